{{- /* For a row that is not there. Whoever inserts it first wins, and the other one looks again. */ -}}
INSERT INTO {{.Table}} ({{.KeyColumns}}{{.ValueColumns}}
{{- if .Grant}}, {{.Grant}}{{end}}
{{- if .Step}}, {{.Step}}{{end}}, {{.Token}})
VALUES ({{.KeyValues}}{{.Values}}
{{- if .Grant}}, {{.GrantID}}{{end}}
{{- if .Step}}, {{.StepValue}}{{end}}, {{.Number}})
ON CONFLICT ({{.KeyColumns}}) DO NOTHING
