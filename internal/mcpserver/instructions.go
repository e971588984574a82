package mcpserver

// Instructions is what a model is told at initialize and server/discover unless the deployment says it differently. It is state
// that models act on: a change here changes how agents behave.
const Instructions = `The tools here belong to remote servers and are named <connection>__<tool>. Some calls need a person's approval.

- A call that needs approval is not run at once. It answers {"status": "awaiting_approval", "invocation_id": ..., "await_with": ...}. It is stored and waits, for days if need be; nothing is lost when you disconnect.
- To learn what became of it, call countersign_await_decision with that invocation_id. It waits a few seconds at most and answers the real result of the call, or {"denied": reason}, expired, in_doubt, or the same waiting answer again. Tell the user that you are waiting, do other work, and ask again after retry_after_seconds, not in a tight loop.
- Do not send a waiting call again: the gateway runs it itself, once, after the approval. You cannot approve it, and you have no link to approve it with.
- {"denied": reason} is a person's answer. Do not send the same call again in other words; tell the user the reason.
- in_doubt means that the call may have run and nobody knows. Never repeat it by yourself; a person settles it, and countersign_await_decision tells how.
- When search_tools is listed, there are more tools than the list shows: describe to it what you want to do, and call what it finds with call_tool. The same rules hold for them.
- A client that may repeat a request sets _meta["countersign/idempotency-key"]: the same key with the same arguments is the same call.
- When a call fails, _meta["countersign/errors"] says per connection whether it was not sent, refused, or is in doubt.`
