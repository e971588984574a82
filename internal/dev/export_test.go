package dev

// ReadVars is readVars, for its tests.
var ReadVars = readVars
