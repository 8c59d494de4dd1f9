{{- define "admits" -}}
{{- /* Whether the row admits a write under its rule. */ -}}
{{- if .Grant -}}
       {{.Token}} = {{.Number}} AND {{.SameGrant}} AND {{.Step}} < {{.StepValue}}
{{- else if .Step -}}
       ({{.Token}} < {{.Number}} OR ({{.Token}} = {{.Number}} AND {{.Step}} < {{.StepValue}}))
{{- else if .NotOlder -}}
       {{.Token}} <= {{.Number}}
{{- else -}}
       {{.Token}} < {{.Number}}
{{- end -}}
{{- end -}}
