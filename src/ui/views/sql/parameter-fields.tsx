/** A field for each `:name` of the statement, with what it is sent as. */
import { Field } from '../../components/form/field.tsx'
import {
  NOT_TYPED,
  PARAMETER_KINDS,
  type Parameter,
  parameterValue,
  saidOfValue,
} from './parameters.ts'
import { changeTab, type SqlTab } from './sql-tabs.ts'

export function ParameterFields({
  tab,
  names,
  onRun,
}: {
  readonly tab: SqlTab
  readonly names: readonly string[]
  readonly onRun: () => void
}) {
  return (
    <fieldset class="sql-parameters">
      <legend class="small quiet">Parameters</legend>
      {names.map((name) => (
        <ParameterField
          key={name}
          name={name}
          parameter={tab.params[name] ?? NOT_TYPED}
          onChange={(next) => changeTab(tab.id, { params: { ...tab.params, [name]: next } })}
          onRun={onRun}
        />
      ))}
    </fieldset>
  )
}

interface ParameterFieldProps {
  readonly name: string
  readonly parameter: Parameter
  readonly onChange: (next: Parameter) => void
  readonly onRun: () => void
}

function ParameterField({ name, parameter, onChange, onRun }: ParameterFieldProps) {
  const sent = parameterValue(parameter)
  const said = sent.problem ?? `sent as ${saidOfValue(sent.value)}`
  return (
    <Field label={`:${name}`} hint={said}>
      {(control) => (
        <span class="sql-parameter">
          <input
            {...control}
            value={parameter.typed}
            dir="auto"
            disabled={parameter.kind === 'null'}
            aria-invalid={sent.problem !== undefined}
            onInput={(event) => onChange({ ...parameter, typed: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return
              event.preventDefault()
              onRun()
            }}
          />
          <select
            aria-label={`Type of :${name}`}
            value={parameter.kind}
            onChange={({ currentTarget: { value } }) => {
              const kind = PARAMETER_KINDS.find((one) => one === value) ?? 'auto'
              onChange({ ...parameter, kind })
            }}
          >
            {PARAMETER_KINDS.map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
        </span>
      )}
    </Field>
  )
}
