package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"hank/internal/vfs"
	"hank/plan/fields"
	"hank/plan/format"
	"hank/runtime/exitcode"
	"hank/runtime/report/output"
)

func schemaCommand() *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "print or write the JSON Schemas for editors", ArgsUsage: "[NAME]",
		Description: `NAME is hank (the default), hankweave, sentinel or models. With --write the schemas of all
of them are written to DIR, as NAME.schema.json. An editor uses the one that
"$schema": "./hank.schema.json" in a hank.json names, without a network.

Example: hank schema --write my-hank`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "write", Usage: "write all schemas to `DIR` instead"},
			jsonFlag,
		},
		Action: func(c *cli.Context) error {
			if err := arguments(c, 0, 1); err != nil {
				return err
			}
			all := fields.Schemas()
			if dir := c.String("write"); dir != "" {
				return writeSchemas(c, dir, all)
			}
			name := orDefault(c.Args().First(), "hank")
			for _, s := range all {
				if s.Name == name {
					return say("%s", s.Text)
				}
			}
			return &exitcode.UsageError{Why: fmt.Sprintf("there is no schema %q; the schemas are hank, hankweave, sentinel and models", name)}
		},
	}
}

func writeSchemas(c *cli.Context, dir string, all []fields.PublishedSchema) error {
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return &exitcode.UsageError{Why: fmt.Sprintf("--write takes a directory that exists, not %q", dir)}
	}
	written := output.SchemaFiles{Schema: 1}
	for _, s := range all {
		name := filepath.Join(dir, s.FileName())
		old, err := vfs.ReadLimited(name, format.Most)
		if err == nil && !s.Wrote(old) {
			return &exitcode.UsageError{Why: name + " is not a schema that hank has written; it was left as it is"}
		}
		if err != nil && !os.IsNotExist(err) {
			return err
		}
		if err := os.WriteFile(name, s.Text, 0o644); err != nil {
			return err
		}
		written.Files = append(written.Files, name)
	}
	if c.Bool("json") {
		return printJSON(written)
	}
	for _, name := range written.Files {
		say("%s\n", name)
	}
	return nil
}
