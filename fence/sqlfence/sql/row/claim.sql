{{- /* Raises the mark and returns the row in one statement. The claim is strict: the number must be new, or the same grant
       claims again, which keeps its steps. */ -}}
UPDATE {{.Table}}
   SET {{.Step}} = CASE WHEN {{.Token}} < {{.Arg .Number}} THEN 0 ELSE {{.Step}} END
     , {{.Grant}} = {{.Arg .GrantID}}
     , {{.Token}} = {{.Arg .Number}}
 WHERE {{.Match}}
   AND ({{.Token}} < {{.Arg .Number}} OR ({{.Token}} = {{.Arg .Number}} AND {{.Grant}} = {{.Arg .GrantID}}))
RETURNING {{.Columns}}
