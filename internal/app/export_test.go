package app

// What tests look at behind the exported API.
var (
	GatewayKeys    = gatewayKeys // A3
	Hint           = Config.hint
	LogTransitions = logTransitions
)
