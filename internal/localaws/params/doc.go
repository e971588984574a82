// Package params is the part of Systems Manager Parameter Store that this project uses, in
// memory: named, versioned values in a hierarchy.
//
//	service := params.New(params.Config{Now: time.Now, Journal: journal})
//	answer, err := service.Do("GetParameter", body)
//	err = service.Replay(record)
//	err = service.Snapshot(emit)
//
// It serves PutParameter, GetParameter, GetParameters, GetParametersByPath,
// DescribeParameters and DeleteParameter, and refuses everything else by name.
//
// It promises:
//
//	M1  A change is journaled before it takes effect.
//	M2  A SecureString is returned in the clear only to a caller that asks for decryption;
//	    to others it is an opaque text. It is not encrypted in the journal: there is no KMS
//	    here, and the data folder is as secret as the values in it.
//	M3  Versions count up from 1; the last 100 can be read as name:version.
//	M4  A listing's pages hold every parameter that is there throughout, once, in order of
//	    name.
//
// Labels, policies, tags and KMS keys are left to AWS.
//
// Source: the AWS Systems Manager API Reference (2014-11-06).
package params
