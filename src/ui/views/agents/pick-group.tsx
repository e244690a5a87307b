/** Names of one kind to pick from, by their project, with all of a project at the top of each. */
import { counted } from '../../components/numbers.ts'

export interface Choice {
  readonly schema: string
  readonly name: string
  /** `view`, `file`; empty where it says nothing. */
  readonly kind: string
}

interface PickGroupProps {
  readonly label: string
  readonly choices: readonly Choice[]
  readonly typed: string
  readonly picked: readonly string[]
  readonly onPick: (names: readonly string[]) => void
}

const SHOWN_MAX = 200

export function PickGroup({ label, choices, typed, picked, onPick }: PickGroupProps) {
  const found = choices.filter(({ schema, name }) => {
    return `${schema}.${name}`.toLowerCase().includes(typed.toLowerCase())
  })
  const bySchema = Map.groupBy(found.slice(0, SHOWN_MAX), ({ schema }) => schema)
  const toggle = (name: string) => {
    const rest = picked.filter((one) => one !== name)
    onPick(rest.length === picked.length ? [...picked, name] : rest)
  }
  return (
    <section aria-label={label}>
      <h3>{label}</h3>
      {choices.length === 0 && <p class="small quiet">None yet.</p>}
      {choices.length > 0 && found.length === 0 && <p class="small quiet">None has this name.</p>}
      {[...bySchema].map(([schema, members]) => {
        const all = `${schema}.*`
        const hasAll = picked.includes(all)
        return (
          <div key={schema}>
            <label class="check">
              <input type="checkbox" checked={hasAll} onChange={() => toggle(all)} />
              <span>
                All of <bdi>{schema}</bdi> <span class="small quiet">and what is added later</span>
              </span>
            </label>
            {members.map((choice) => {
              const name = `${choice.schema}.${choice.name}`
              return (
                <label key={name} class="check agent-member">
                  <input
                    type="checkbox"
                    checked={isCovered(choice, picked)}
                    disabled={hasAll}
                    onChange={() => toggle(name)}
                  />
                  <span dir="auto">{name}</span>
                  {choice.kind !== '' && <span class="small quiet">{choice.kind}</span>}
                </label>
              )
            })}
          </div>
        )
      })}
      {found.length > SHOWN_MAX && (
        <p class="small quiet">
          {counted(found.length - SHOWN_MAX, 'more', 'more')}: type a part of a name to find them.
        </p>
      )}
    </section>
  )
}

/** Whether a name or a pattern (`shop.*`) among those that are picked means it. Case makes no difference. */
export function isCovered({ schema, name }: Choice, picked: readonly string[]): boolean {
  const whole = `${schema}.${name}`.toLowerCase()
  return picked.some((one) => {
    const wanted = one.toLowerCase().replaceAll('"', '').replaceAll('`', '')
    return wanted.endsWith('*') ? whole.startsWith(wanted.slice(0, -1)) : whole === wanted
  })
}
