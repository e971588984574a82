package gateway

import (
	"github.com/countersign-mcp/countersign/internal/gateway/review"
)

// What a person is shown of one call, what they choose, and what stands (package review).
type (
	View     = review.View
	Choice   = review.Choice
	Decision = review.Decision
	Decided  = review.Decided
)

// The choices (package review).
const (
	Approve = review.Approve
	Decline = review.Decline
	Ran     = review.Ran
	Rerun   = review.Rerun
	GiveUp  = review.GiveUp
)
