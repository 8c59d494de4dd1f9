{{- define "claimable" -}}
({{.Token}} < {{.Number}}{{if .Jumps}} AND ({{.Token}} = 0 OR {{.Number}} - {{.Token}} <= {{.MaxJump}}){{end}} OR ({{.Token}} = {{.Number}} AND {{.SameGrant}}))
{{- end -}}
