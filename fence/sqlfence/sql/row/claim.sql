{{- /* Raises the mark and returns the row in one statement. The claim is strict: the number must be new, or the same grant
       claims again, which keeps its steps. */ -}}
UPDATE {{.Table}}
   SET {{.Step}} = CASE WHEN {{.Token}} < {{.Number}} THEN 0 ELSE {{.Step}} END
     , {{.Grant}} = {{.GrantID}}
     , {{.Token}} = {{.Number}}
 WHERE {{.Match}}
   AND {{template "claimable" .}}
RETURNING {{.Columns}}
