package awscheck

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

// putParameter stores a parameter under the check's prefix and deletes it at the end.
func (c *C) putParameter(name, value string, kind types.ParameterType, overwrite bool) (int64, error) {
	c.Helper()
	full := c.prefix + name
	out, err := c.ssm.PutParameter(c.ctx, &ssm.PutParameterInput{Name: &full, Value: &value, Type: kind, Overwrite: &overwrite})
	if err != nil {
		return 0, err
	}
	if out.Version == 1 {
		c.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, err := c.ssm.DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: &full})
			var gone *types.ParameterNotFound
			if err != nil && !errors.As(err, &gone) {
				c.Errorf("deleting parameter %s, which is left behind: %v", full, err)
			}
		})
	}
	return out.Version, nil
}

func (c *C) mustPutParameter(name, value string, kind types.ParameterType) {
	c.Helper()
	if _, err := c.putParameter(name, value, kind, false); err != nil {
		c.Fatalf("putting parameter %s: %v", name, err)
	}
}

func (c *C) parameter(name string, decrypt bool) (*types.Parameter, error) {
	out, err := c.ssm.GetParameter(c.ctx, &ssm.GetParameterInput{Name: aws.String(c.prefix + name), WithDecryption: &decrypt})
	if err != nil {
		return nil, err
	}
	return out.Parameter, nil
}

func parameterChecks() []check {
	return []check{
		{"a SecureString is read in the clear with decryption only", "GetParameter: WithDecryption", func(c *C) {
			c.mustPutParameter("/token", "s3cret", types.ParameterTypeSecureString)
			clear, err := c.parameter("/token", true)
			if err != nil {
				c.Fatal(err)
			}
			c.want("value and type", []string{*clear.Value, string(clear.Type), *clear.Name}, []string{"s3cret", "SecureString", c.prefix + "/token"})
			hidden, err := c.parameter("/token", false)
			if err != nil {
				c.Fatal(err)
			}
			if strings.Contains(*hidden.Value, "s3cret") {
				c.Error("the value is in the clear without decryption")
			}
		}},
		{"a parameter that is not there has its own error", "GetParameter, DeleteParameter: ParameterNotFound", func(c *C) {
			_, err := c.parameter("/none", true)
			c.refused("reading it", err, "ParameterNotFound")
			_, err = c.ssm.DeleteParameter(c.ctx, &ssm.DeleteParameterInput{Name: aws.String(c.prefix + "/none")})
			c.refused("deleting it", err, "ParameterNotFound")
		}},
		{"a deleted parameter is gone", "DeleteParameter", func(c *C) {
			c.mustPutParameter("/x", "1", types.ParameterTypeString)
			if _, err := c.ssm.DeleteParameter(c.ctx, &ssm.DeleteParameterInput{Name: aws.String(c.prefix + "/x")}); err != nil {
				c.Fatal(err)
			}
			_, err := c.parameter("/x", true)
			c.refused("reading it", err, "ParameterNotFound")
		}},
		{"a parameter is replaced only when that is asked for, and counts its versions", "PutParameter: Overwrite, Version", func(c *C) {
			c.mustPutParameter("/x", "1", types.ParameterTypeString)
			_, err := c.putParameter("/x", "2", types.ParameterTypeString, false)
			c.refused("a second put", err, "ParameterAlreadyExists")
			version, err := c.putParameter("/x", "2", "", true)
			if err != nil {
				c.Fatal(err)
			}
			c.want("version", version, int64(2))
			latest, err := c.parameter("/x", false)
			if err != nil {
				c.Fatal(err)
			}
			c.want("value and type", []string{*latest.Value, string(latest.Type)}, []string{"2", "String"})
		}},
		{"a version is read by its number", "GetParameter: Name:Version", func(c *C) {
			c.mustPutParameter("/x", "first", types.ParameterTypeString)
			if _, err := c.putParameter("/x", "second", "", true); err != nil {
				c.Fatal(err)
			}
			old, err := c.parameter("/x:1", false)
			if err != nil {
				c.Fatal(err)
			}
			c.want("version 1", []string{*old.Value, fmt.Sprint(old.Version)}, []string{"first", "1"})
			_, err = c.parameter("/x:3", false)
			c.refused("version 3", err, "ParameterVersionNotFound")
		}},
		{"a path lists what is below it, all levels or one, in pages, and nothing beside it", "GetParametersByPath: Recursive, MaxResults, NextToken", func(c *C) {
			for i := range 7 {
				c.mustPutParameter(fmt.Sprintf("/a/p%02d", i), "v", types.ParameterTypeString)
			}
			c.mustPutParameter("/a/deep/x", "v", types.ParameterTypeString)
			c.mustPutParameter("/ab", "v", types.ParameterTypeString)
			for _, recursive := range []bool{true, false} {
				seen := map[string]int{}
				pages := ssm.NewGetParametersByPathPaginator(c.ssm, &ssm.GetParametersByPathInput{Path: aws.String(c.prefix + "/a"), Recursive: &recursive, MaxResults: aws.Int32(3)})
				for pages.HasMorePages() {
					out, err := pages.NextPage(c.ctx)
					if err != nil {
						c.Fatal(err)
					}
					if len(out.Parameters) > 3 {
						c.Errorf("a page has %d parameters, its limit is 3", len(out.Parameters))
					}
					for _, p := range out.Parameters {
						seen[*p.Name]++
					}
				}
				want := map[string]int{}
				for i := range 7 {
					want[fmt.Sprintf("%s/a/p%02d", c.prefix, i)] = 1
				}
				if recursive {
					want[c.prefix+"/a/deep/x"] = 1
				}
				c.want(fmt.Sprintf("recursive %v", recursive), seen, want)
			}
		}},
		{"several names are read at once, and those that are not there are named", "GetParameters: InvalidParameters; up to 10 names", func(c *C) {
			c.mustPutParameter("/x", "1", types.ParameterTypeString)
			c.mustPutParameter("/y", "2", types.ParameterTypeSecureString)
			out, err := c.ssm.GetParameters(c.ctx, &ssm.GetParametersInput{Names: []string{c.prefix + "/x", c.prefix + "/y", c.prefix + "/none"}, WithDecryption: aws.Bool(true)})
			if err != nil {
				c.Fatal(err)
			}
			got := map[string]string{}
			for _, p := range out.Parameters {
				got[strings.TrimPrefix(*p.Name, c.prefix)] = *p.Value
			}
			c.want("values", got, map[string]string{"/x": "1", "/y": "2"})
			c.want("invalid names", out.InvalidParameters, []string{c.prefix + "/none"})
			var many []string
			for i := range 11 {
				many = append(many, fmt.Sprintf("%s/%d", c.prefix, i))
			}
			_, err = c.ssm.GetParameters(c.ctx, &ssm.GetParametersInput{Names: many})
			c.refused("11 names", err, invalid)
		}},
		{"a value over 4 KB needs another tier", "PutParameter: standard 4 KB, advanced 8 KB", func(c *C) {
			c.mustPutParameter("/fits", strings.Repeat("a", 4096), types.ParameterTypeString)
			_, err := c.putParameter("/big", strings.Repeat("a", 4097), types.ParameterTypeString, false)
			c.refused("4,097 bytes", err, invalid)
		}},
		{"a description shows what there is, and no value", "DescribeParameters: ParameterFilters", func(c *C) {
			c.mustPutParameter("/x", "visible?", types.ParameterTypeString)
			out, err := c.ssm.DescribeParameters(c.ctx, &ssm.DescribeParametersInput{ParameterFilters: []types.ParameterStringFilter{
				{Key: aws.String("Name"), Option: aws.String("Equals"), Values: []string{c.prefix + "/x"}}}})
			if err != nil {
				c.Fatal(err)
			}
			if len(out.Parameters) != 1 {
				c.Fatalf("%d parameters are described, want 1", len(out.Parameters))
			}
			c.want("type and version", []string{string(out.Parameters[0].Type), fmt.Sprint(out.Parameters[0].Version)}, []string{"String", "1"})
		}},
		{"a name that is not one is refused", "PutParameter: constraints on names", func(c *C) {
			for _, name := range []string{"/with space", "/émile"} {
				_, err := c.putParameter(name, "v", types.ParameterTypeString, false)
				c.refused(name, err, invalid)
			}
		}},
	}
}
