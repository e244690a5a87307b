/** One section of the settings: fields, changes, costs, and a button that saves it. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { refreshCatalog } from '../../api/catalog.ts'
import { addressOfApi } from '../../api/documents.ts'
import { getKnowledgeBase, type KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import type { KnowledgeBase } from '../../api/records.ts'
import { request } from '../../api/request.ts'
import { Form, type InputField, Inputs, type Values } from '../../components/form/form.tsx'
import { tellDone } from '../../shell/notices.tsx'

export interface SectionProps {
  readonly of: KnowledgeBaseName
  readonly kb: KnowledgeBase
  readonly chunks: number
  readonly documents: number
  /** Reads the settings again. */
  readonly onSaved: () => void
}

interface SettingsSectionProps {
  readonly title: string
  readonly stored: Values
  readonly values: Values
  readonly fields: readonly InputField[]
  readonly onChange: (values: Values) => void
  readonly onSave: () => Promise<void>
  /** What saving costs, one line each; empty if nothing. */
  readonly costs: readonly string[]
  readonly verb?: string
  readonly children?: ComponentChildren
  readonly beside?: ComponentChildren
}

export function SettingsSection(props: SettingsSectionProps) {
  const { title, stored, values, fields, onChange, onSave, costs, children, beside } = props
  const changes = changesOf(fields, stored, values)
  return (
    <Form
      class="panel stack"
      aria-label={title}
      verb={props.verb ?? 'Save'}
      isIncomplete={changes.length === 0}
      onSend={onSave}
      beside={beside}
    >
      <h2>{title}</h2>
      {children}
      <Inputs fields={fields} values={values} onChange={onChange} />
      <Costs
        label="Changes"
        lines={changes.length === 0 ? [] : [...changes.map(wordsOfChange), ...costs]}
      />
    </Form>
  )
}

export function Costs(props: { readonly lines: readonly string[]; readonly label: string }) {
  const { lines, label } = props
  if (lines.length === 0) return null
  return (
    <div class="kb-costs small" role="note" aria-label={label}>
      <ul class="list">
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </div>
  )
}

interface Change {
  readonly field: InputField
  readonly before: string
  readonly after: string
}

function changesOf(fields: readonly InputField[], stored: Values, values: Values) {
  return fields.flatMap((field): readonly Change[] => {
    const [before, after] = [stored[field.name] ?? '', values[field.name] ?? '']
    return before === after ? [] : [{ field, before, after }]
  })
}

/** Describes a change, such as `Size in characters: 1000 → 100`. */
function wordsOfChange({ field, before, after }: Change): string {
  const words = (value: string) => {
    if (field.kind === 'check') return value === '' ? 'no' : 'yes'
    const known = field.options?.find(([one]) => one === value)?.[1]
    return known ?? (value === '' ? (field.empty ?? 'none') : value)
  }
  if (field.kind === 'password') return `${field.label}: replaced`
  return `${field.label}: ${words(before)} → ${words(after)}`
}

/** Or a function of the stored settings, to send only differences. */
type Changes = object | ((now: KnowledgeBase) => object)

/** Unless another window changed it. @param partOf what saving replaces; the rest may change */
export function useSaving(
  { of, kb, onSaved }: Pick<SectionProps, 'of' | 'kb' | 'onSaved'>,
  partOf: (kb: KnowledgeBase) => unknown,
) {
  const [before, setBefore] = useState(() => JSON.stringify(partOf(kb)))
  /**
   * @throws ApiError; Error if another window has changed the part, which the next call overwrites
   */
  return async (changes: Changes): Promise<void> => {
    const now = await getKnowledgeBase(of.project, of.name)
    const stored = JSON.stringify(partOf(now))
    if (stored !== before) {
      setBefore(stored)
      throw new Error(
        'Another window changed these settings since you opened them. Save again to replace them with yours',
      )
    }
    const json = { knowledge_base: typeof changes === 'function' ? changes(now) : changes }
    await request(addressOfApi(of), { method: 'PUT', json })
    setBefore(JSON.stringify(partOf(await getKnowledgeBase(of.project, of.name))))
    tellDone('Saved')
    onSaved()
    // The change is saved, even if reloading the list fails.
    await refreshCatalog().catch(() => {})
  }
}
