package row

// Field is the stored name of one attribute of an invocation's item. The names are short because they are billed.
type Field string

// The attributes (docs/ledger.md, "Item layout"). Times are milliseconds since 1970, except DeleteAt.
const (
	State          Field = "s"
	Head           Field = "h"
	Events         Field = "e" // list of event texts
	Attempts       Field = "n"
	Lease          Field = "l"
	Owner          Field = "ow" // nonce of the event by which the present executor owns the call
	ExpiresAt      Field = "x"
	ApprovalEndsAt Field = "ax"
	Effect         Field = "m"
	Gate           Field = "g"
	Approvals      Field = "an"
	ApprovedBy     Field = "ab"
	CreatedAt      Field = "ca"
	Connection     Field = "c"
	Tool           Field = "t"
	UpstreamTool   Field = "ut"
	UpstreamURL    Field = "u"
	Principal      Field = "pr"
	PrincipalName  Field = "pn"
	Proof          Field = "pf"
	OwnApprover    Field = "oa"
	ActingUser     Field = "au"
	Session        Field = "se"
	Channel        Field = "ch"
	Client         Field = "cl"
	Args           Field = "a"
	ArgsDigest     Field = "ad"
	Fingerprint    Field = "f"
	Definition     Field = "dd"
	Context        Field = "cx"
	Meta           Field = "mt"
	Decision       Field = "dc"
	KeyDigest      Field = "kd"
	Result         Field = "r" // the body, when it is kept in the row
	ResultKind     Field = "rk"
	ResultDigest   Field = "rd"
	ResultSize     Field = "rn"
	ResultChunks   Field = "rc"
	ResultSet      Field = "rg"
	ResultEncoding Field = "rz"
	Why            Field = "wy"
	How            Field = "hw"
	Reason         Field = "re"
	RemoteTask     Field = "rt"
	Linked         Field = "li"
	Shard          Field = "q" // index: "o#0" to "o#3"
	LookAt         Field = "d" // index: when to look next
	DeleteAt       Field = "ttl"
	NotifiedAt     Field = "na"
	SeenTwice      Field = "st"
	GrantKey       Field = "gk" // partition and sort, joined by "/"
	Verified       Field = "vw" // Verification.Text: what a read-only tool answered about a call in doubt
	Erased         Field = "er" // Erasure.Text: the bytes below Erasable were removed
)
