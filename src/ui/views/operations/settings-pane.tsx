/** The settings as they are: they are environment variables, so that nothing is changed here. */
import { useLocation } from 'preact-iso/router'
import type { ShownSetting } from '../../api/records.ts'
import { request } from '../../api/request.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { TextField } from '../../components/form/text-field.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { useResource } from '../../components/resource.ts'

export function SettingsPane() {
  const { query, route } = useLocation()
  const wanted = query.q ?? ''
  const settings = useResource(
    (signal) => request<readonly ShownSetting[]>('/api/settings', { signal }),
    [],
  )
  const find = (text: string) => {
    route(`/operations/settings?${new URLSearchParams(text === '' ? {} : { q: text })}`, true)
  }
  return (
    <div class="stack">
      <TextField
        label="Find a setting"
        hint="They are environment variables: a change takes effect after a restart"
        type="search"
        class="operations-narrow"
        value={wanted}
        onText={find}
      />
      <Loaded of={settings} what="the settings">
        {(items) => <SettingTable items={items.filter((one) => fits(one, wanted))} />}
      </Loaded>
    </div>
  )
}

function fits({ name, meaning }: ShownSetting, wanted: string): boolean {
  return `${name} ${meaning}`.toLowerCase().includes(wanted.trim().toLowerCase())
}

function SettingTable({ items }: { readonly items: readonly ShownSetting[] }) {
  if (items.length === 0) {
    return (
      <EmptyState icon="settings" title="No such setting">
        <p>Try another word from its name or meaning.</p>
      </EmptyState>
    )
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <section class="panel flush" tabIndex={0} aria-label="Settings">
      <table class="stacked">
        <thead>
          <tr>
            <th>Setting</th>
            <th>Value</th>
            <th>Meaning</th>
          </tr>
        </thead>
        <tbody>
          {items.map((one) => (
            <tr key={one.name}>
              <td class="mono stacked-first">{one.name}</td>
              <td>
                <Value setting={one} />
              </td>
              <td class="small stacked-last">{one.meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function Value({ setting }: { readonly setting: ShownSetting }) {
  const { value, default: usual, is_secret: isSecret, is_set: isSet } = setting
  if (!isSet) return <span class="quiet">not set</span>
  if (isSecret || value === null) return <span class="badge">set, not shown</span>
  return (
    <>
      <span class="mono" dir="auto">
        {value}
      </span>
      {value !== (usual ?? '') && (
        <p class="small quiet" dir="auto">
          the default is {usual ?? 'nothing'}
        </p>
      )}
    </>
  )
}
