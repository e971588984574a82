// One MCP client session, driven by lines: the line client of the interop proof.
//
//   node client.mjs sdk URL              TypeScript SDK 1.x, which speaks the handshake revisions
//   node client.mjs client-2 URL ERA     TypeScript client 2.x; ERA is legacy or modern
//
// MCP_TOKEN holds the bearer token. Each line on stdin is {"method": "list"} or {"method": "call", "name": ..., "arguments": ...};
// each is answered by one line on stdout, {"result": ...} or {"error": {"code": ..., "message": ...}}. The first line is
// {"ready": {"protocolVersion": ..., "server": ...}}. The session ends when stdin does.
import { createInterface } from "node:readline";

const [kind, url, era] = process.argv.slice(2);
const info = { name: `interop-${kind}`, version: "1.0.0" };
const headers = process.env.MCP_TOKEN ? { Authorization: `Bearer ${process.env.MCP_TOKEN}` } : {};

async function connect() {
  if (kind === "sdk") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const client = new Client(info, { capabilities: {} });
    const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
    await client.connect(transport);
    return { client, version: transport.protocolVersion };
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const mode = era === "modern" ? { pin: "2026-07-28" } : "legacy";
  const client = new Client(info, { capabilities: {}, versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return { client, version: client.getNegotiatedProtocolVersion() };
}

// everyTool reads all pages. Client 2.x does so itself when no cursor is given; then there is no nextCursor.
async function everyTool(client) {
  const tools = [];
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? undefined : { cursor });
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

const print = (value) => process.stdout.write(JSON.stringify(value) + "\n");
const asError = (err) => ({ error: { code: err.code ?? null, message: String(err.message ?? err) } });

let session;
try {
  session = await connect();
} catch (err) {
  print(asError(err));
  process.exit(1);
}
print({ ready: { protocolVersion: session.version ?? null, server: session.client.getServerVersion() ?? null } });

for await (const line of createInterface({ input: process.stdin })) {
  try {
    const { method, name, arguments: args } = JSON.parse(line);
    switch (method) {
      case "list":
        print({ result: { tools: await everyTool(session.client) } });
        break;
      case "call":
        print({ result: await session.client.callTool({ name, arguments: args }) });
        break;
      default:
        print({ error: { code: null, message: `the line client knows list and call, not ${method}` } });
    }
  } catch (err) {
    print(asError(err));
  }
}
await session.client.close();
