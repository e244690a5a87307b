/** One setting, or two to compare. */
import { FUSIONS, SEARCH_MODES } from '../../../../domain/hybrid-search.ts'
import { Field } from '../../../components/field.tsx'
import { DEFAULT_SETTING, type EvaluationSetting } from './evaluation.ts'

interface EvaluationFormProps {
  readonly settings: readonly EvaluationSetting[]
  readonly onChange: (settings: readonly EvaluationSetting[]) => void
}

export function EvaluationForm({ settings, onChange }: EvaluationFormProps) {
  const isCompared = settings.length > 1
  return (
    <div class="stack">
      {settings.map((setting, index) => (
        <Setting
          key={index === 0 ? 'A' : 'B'}
          name={index === 0 ? 'A' : 'B'}
          setting={setting}
          onChange={(next) => onChange(settings.with(index, next))}
        />
      ))}
      <label class="check">
        <input
          type="checkbox"
          checked={isCompared}
          onChange={() => {
            const other: EvaluationSetting = { ...DEFAULT_SETTING, mode: 'vector' }
            onChange(isCompared ? settings.slice(0, 1) : [...settings, other])
          }}
        />
        Compare with other settings
      </label>
    </div>
  )
}

interface SettingProps {
  readonly name: string
  readonly setting: EvaluationSetting
  readonly onChange: (setting: EvaluationSetting) => void
}

function Setting({ name, setting, onChange }: SettingProps) {
  const { mode, alpha, fusion } = setting
  const isHybrid = mode === 'hybrid'
  return (
    <fieldset class="search-settings panel">
      <legend>Settings {name}</legend>
      <Field label="Search by">
        {(control) => (
          <select
            {...control}
            value={mode}
            onChange={({ currentTarget: { value } }) => {
              const chosen = SEARCH_MODES.find((one) => one === value) ?? 'hybrid'
              onChange({ ...setting, mode: chosen })
            }}
          >
            {SEARCH_MODES.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
      {isHybrid && (
        <Field label="Weight of meaning, 0 to 1" hint="Empty: as it fits the text">
          {(control) => (
            <input
              {...control}
              type="number"
              min="0"
              max="1"
              step="0.05"
              value={alpha ?? ''}
              onInput={({ currentTarget: { value } }) => {
                onChange({ ...setting, alpha: value === '' ? null : Number(value) })
              }}
            />
          )}
        </Field>
      )}
      {isHybrid && (
        <Field label="Fusion">
          {(control) => (
            <select
              {...control}
              value={fusion ?? ''}
              onChange={({ currentTarget: { value } }) => {
                onChange({ ...setting, fusion: value || null })
              }}
            >
              <option value="">As the knowledge base says</option>
              {FUSIONS.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          )}
        </Field>
      )}
    </fieldset>
  )
}
