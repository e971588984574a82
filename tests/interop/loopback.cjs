// Loaded with node --require in front of a server that can only be told its port. It would listen on every address of
// the machine, and server-everything has a tool that prints the environment.
const net = require("node:net");

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (...args) {
  const port = typeof args[0] === "object" && args[0] !== null ? args[0].port : args[0];
  const callback = args.find((arg) => typeof arg === "function");
  return listen.call(this, { port: Number(port), host: "127.0.0.1" }, callback);
};
