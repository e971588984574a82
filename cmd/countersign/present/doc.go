// Package present writes what the command prints: text that cannot steer a terminal, aligned columns, and a catalog for people.
//
//	present.Plain(name)           // everything unprintable spelled out
//	present.Table(w, rows)
//	present.Tools(w, present.Of(cat, conns))
//
// What it leaves to others: which stream a thing goes to, exit codes, JSON (package main).
package present
