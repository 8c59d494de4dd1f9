{{- define "answer" -}}
LAST_INSERT_ID(CASE WHEN {{.Token}} > {{.Number}} THEN -{{.Token}}
                       WHEN {{template "admits" .}} THEN 1
{{- if .Step}}
                       WHEN {{.Token}} = {{.Number}}{{if .Grant}} AND {{.SameGrant}}{{end}} AND {{.Step}} = {{.StepValue}} THEN 4
                       WHEN {{.Token}} = {{.Number}}{{if .Grant}} AND {{.SameGrant}}{{end}} AND {{.Step}} > {{.StepValue}} THEN 5
{{- end}}
                       ELSE 3 END)
{{- end -}}
