/** A field for each `:name` of the statement. What is a number or `null` is sent as that, in quotes it is a text. */
import { Field } from '../../components/field.tsx'
import { changeTab, type SqlTab } from './sql-tabs.ts'

export function ParameterFields({
  tab,
  names,
}: {
  readonly tab: SqlTab
  readonly names: readonly string[]
}) {
  return (
    <fieldset class="sql-parameters">
      <legend class="small quiet">Parameters: a number, null, true, false, or a text</legend>
      {names.map((name) => (
        <Field key={name} label={`:${name}`}>
          {(control) => (
            <input
              {...control}
              value={tab.params[name] ?? ''}
              dir="auto"
              onInput={(event) => {
                changeTab(tab.id, { params: { ...tab.params, [name]: event.currentTarget.value } })
              }}
            />
          )}
        </Field>
      ))}
    </fieldset>
  )
}

export function valuesOf(
  typed: Readonly<Record<string, string>>,
  names: readonly string[],
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(names.map((name) => [name, meantBy(typed[name] ?? '')]))
}

function meantBy(typed: string): unknown {
  if (typed === 'null') return null
  if (typed === 'true' || typed === 'false') return typed === 'true'
  if (/^".*"$/s.test(typed)) return typed.slice(1, -1)
  return /^-?\d+(\.\d+)?$/.test(typed) && Number.isSafeInteger(Math.trunc(Number(typed)))
    ? Number(typed)
    : typed
}
