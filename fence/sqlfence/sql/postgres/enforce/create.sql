CREATE OR REPLACE FUNCTION {{.Function}}() RETURNS trigger LANGUAGE plpgsql AS $fencerow$
DECLARE
    reason    text;
    resource  text;
    stored    bigint;
    -- What the transaction presents, if it does. After it the settings are empty, not NULL.
    presented bigint := NULLIF(current_setting('fencerow.token', true), '')::bigint;
    protects  text   := NULLIF(current_setting('fencerow.resource', true), '');
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        reason := 'truncate';
        resource := {{.Literal}};
    ELSIF TG_OP = 'INSERT' THEN
        resource := {{.Resource "NEW"}};
        IF COALESCE({{.Token "NEW"}}, 0) = 0 AND protects = resource THEN
            {{.Token "NEW"}} := presented;
        END IF;
        SELECT fence_token INTO stored FROM fencerow_gate g WHERE g.resource = {{.Resource "NEW"}} FOR SHARE;
        IF COALESCE({{.Token "NEW"}}, 0) = 0 THEN
            reason := 'unfenced';
        ELSIF {{.Token "NEW"}} < stored THEN
            reason := 'stale';
            presented := {{.Token "NEW"}};
        END IF;
    ELSIF TG_OP = 'UPDATE' THEN
        resource := {{.Resource "OLD"}};
        stored := {{.Token "OLD"}};
        IF resource <> {{.Resource "NEW"}} THEN
            reason := 'delete'; -- under its old key
        ELSIF ({{.Token "NEW"}}, {{.Step "NEW"}}) IS DISTINCT FROM ({{.Token "OLD"}}, {{.Step "OLD"}}) THEN
            presented := {{.Token "NEW"}};
            IF ({{.Token "NEW"}}, {{.Step "NEW"}}) > ({{.Token "OLD"}}, {{.Step "OLD"}}) THEN
                NULL;
            ELSIF EXISTS (SELECT FROM fencerow_override o WHERE o.resource = {{.Resource "OLD"}}
                             AND o.old_token = {{.Token "OLD"}} AND o.new_token = {{.Token "NEW"}}) THEN
                NULL;
            ELSIF {{.Token "OLD"}} IS NULL OR {{.Token "NEW"}} IS NULL OR {{.Token "NEW"}} = 0 THEN
                reason := 'unfenced';
            ELSE
                reason := 'stale';
            END IF;
        ELSIF protects = resource THEN
            IF presented < stored THEN
                reason := 'stale';
            ELSE
                {{.Token "NEW"}} := presented;
            END IF;
        ELSIF NEW IS DISTINCT FROM OLD THEN
            reason := 'unfenced';
        END IF;
    ELSE
        resource := {{.Resource "OLD"}};
        stored := {{.Token "OLD"}};
        IF protects = resource AND presented < stored THEN
            reason := 'stale';
        ELSIF NOT EXISTS (SELECT FROM fencerow_gate g WHERE g.resource = {{.Resource "OLD"}}
                             AND (protects = g.resource AND g.fence_token >= COALESCE({{.Token "OLD"}}, 0)
                                  OR (g.fence_token, g.fence_step) > (COALESCE({{.Token "OLD"}}, 0), {{.Step "OLD"}}))) THEN
            reason := 'delete';
        END IF;
    END IF;

    IF reason IS NOT NULL THEN
{{template "violation" .}}
        IF TG_OP = 'UPDATE' THEN
            {{.Token "NEW"}} := GREATEST({{.Token "OLD"}}, {{.Token "NEW"}}); -- the mark does not go down
        END IF;
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RETURN NEW;
END
$fencerow$;
{{template "triggers" .}}
