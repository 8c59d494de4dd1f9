{{- /* What the row answers travels in the OK packet, by LAST_INSERT_ID: see packet.go. It is written down in the WHERE clause,
       which decides by it, and again where the row is written. The token is assigned last, because assignments are made from left
       to right. */ -}}
UPDATE {{.Table}}
   SET {{.Set}}
{{- if .Grant}}
     , {{.Grant}} = {{.GrantID}}
{{- end}}
{{- if .Step}}
     , {{.Step}} = {{.StepValue}}
{{- end}}
     , {{.Token}} = IF(LAST_INSERT_ID(2), {{.Number}}, NULL)
 WHERE {{.Match}}
   AND {{template "answer" .}} = 1
{{- range .Where}}
   AND ({{.}}
       )
{{- end}}
