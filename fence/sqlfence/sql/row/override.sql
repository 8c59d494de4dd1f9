UPDATE {{.Table}}
   SET {{if .Grant}}{{.Grant}} = {{.OverrideGrant}}
     , {{end}}{{if .Step}}{{.Step}} = 0
     , {{end}}{{.Token}} = {{.OverrideNumber}}
 WHERE {{.Match}}
