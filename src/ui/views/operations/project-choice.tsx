/** Which projects a key or a user may name: all, those that come later too, or those that are chosen. */
import { useState } from 'preact/hooks'
import type { NamedDatabase } from '../../api/records.ts'
import { account } from '../../api/session.ts'
import { Failure } from '../../components/failure.tsx'
import { Check } from '../../components/form/field.tsx'
import { useRequest } from '../../components/resource.ts'

/** At first: nobody gives away more than they have. */
export function widestChoice(): readonly string[] | null {
  return account.value?.projects === null ? null : []
}

/** From so many on, they are found by typing. */
const FOUND_BY_TYPING = 12

interface ProjectChoiceProps {
  /** null: all. */
  readonly chosen: readonly string[] | null
  readonly onChoose: (names: readonly string[] | null) => void
}

export function ProjectChoice({ chosen, onChoose }: ProjectChoiceProps) {
  const named = useRequest<readonly NamedDatabase[]>('/api/databases')
  const there = (named.data ?? []).filter(({ type }) => type !== 'system')
  return (
    <fieldset class="operations-scopes">
      <legend>Projects</legend>
      <Check
        type="radio"
        name="projects"
        checked={chosen === null}
        disabled={widestChoice() !== null}
        onCheck={() => onChoose(null)}
      >
        All, also those that come later
      </Check>
      <Check type="radio" name="projects" checked={chosen !== null} onCheck={() => onChoose([])}>
        Only some
      </Check>
      {chosen !== null && named.failure && <Failure error={named.failure} onRetry={named.reload} />}
      {chosen !== null && named.data && <Names {...{ there, chosen, onChoose }} />}
    </fieldset>
  )
}

interface NamesProps {
  readonly there: readonly NamedDatabase[]
  readonly chosen: readonly string[]
  readonly onChoose: (names: readonly string[]) => void
}

function Names({ there, chosen, onChoose }: NamesProps) {
  const [typed, setTyped] = useState('')
  const known = new Set(there.map(({ name }) => name))
  const gone = chosen.filter((name) => !known.has(name))
  const all = [
    ...there.map((one) => ({ name: one.name, kind: kindOf(one) })),
    ...gone.map((name) => ({ name, kind: 'not there any more' })),
  ]
  const found = all.filter(({ name }) => name.toLowerCase().includes(typed.trim().toLowerCase()))
  const toggle = (name: string) => {
    const rest = chosen.filter((one) => one !== name)
    onChoose(rest.length === chosen.length ? [...chosen, name] : rest)
  }
  return (
    <>
      {all.length >= FOUND_BY_TYPING && (
        <input
          type="search"
          aria-label="Find a project"
          placeholder="Find a project"
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
      )}
      <div class="operations-choices">
        {found.length === 0 && <p class="small quiet">None has this name.</p>}
        {found.map(({ name, kind }) => (
          <Check key={name} checked={chosen.includes(name)} onCheck={() => toggle(name)}>
            <span dir="auto">{name}</span>
            {kind !== '' && <span class="small quiet">{kind}</span>}
          </Check>
        ))}
      </div>
    </>
  )
}

function kindOf({ type, engine }: NamedDatabase): string {
  if (type === 'project') return ''
  return engine === 'files' ? 'what was uploaded' : 'data source'
}
