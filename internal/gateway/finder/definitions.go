package finder

import "encoding/json"

// The names of the tools.
const (
	SearchTool = "search_tools"
	CallTool   = "call_tool"
)

// The definitions as tools/list shows them. Models hold their names, schemas and texts: change them together with the golden files of
// tests/e2e.
const (
	searchDefinition = `{"name":"` + SearchTool + `","title":"Search tools",` +
		`"description":"Finds tools that are not in this list. Say in plain words what you want to do, as a whole sentence: query \"refund a customer's last order\". ` +
		`It answers the full definitions of the tools that fit best, the best first. Call one of them with ` + CallTool + `, by its full name and with arguments that fit its inputSchema. ` +
		`If none fits, search again in other words or for one step at a time. It runs nothing.",` +
		`"inputSchema":{"type":"object","properties":{` +
		`"query":{"type":"string","minLength":1,"description":"what you want to do, in plain words"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":20,"description":"how many tools to answer at most; default 5"}},` +
		`"required":["query"],"additionalProperties":false},` +
		`"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}}`

	callDefinition = `{"name":"` + CallTool + `","title":"Call a tool that was found",` +
		`"description":"Calls a tool that ` + SearchTool + ` found, by its full name. It is the same as calling the tool directly: the same arguments, the same checks, the same answer, ` +
		`and where the call needs a person's approval, the same awaiting_approval answer.",` +
		`"inputSchema":{"type":"object","properties":{` +
		`"name":{"type":"string","minLength":1,"description":"the full name of the tool, as ` + SearchTool + ` answers it"},` +
		`"arguments":{"type":"object","description":"the arguments of that tool; they must fit its inputSchema"}},` +
		`"required":["name"],"additionalProperties":false},` +
		`"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":true}}`
)

// Definitions returns the definitions of both tools, for the lists of callers who have something to find.
func Definitions() []json.RawMessage {
	return []json.RawMessage{json.RawMessage(searchDefinition), json.RawMessage(callDefinition)}
}
