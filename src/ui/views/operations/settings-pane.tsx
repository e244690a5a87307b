/** The settings as they are: they are environment variables, so that nothing is changed here. */
import { useLocation } from 'preact-iso/router'
import type { ShownSetting } from '../../api/records.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { TextField } from '../../components/form/text-field.tsx'
import { Loaded, RecordTable, type TableColumn } from '../../components/record-list.tsx'
import { useRequest } from '../../components/resource.ts'

export function SettingsPane() {
  const { query, route } = useLocation()
  const wanted = query.q ?? ''
  const settings = useRequest<readonly ShownSetting[]>('/api/settings')
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

const COLUMNS: readonly TableColumn<ShownSetting>[] = [
  { title: 'Setting', look: 'mono stacked-first', cell: ({ name }) => name },
  { title: 'Value', cell: (one) => <Value setting={one} /> },
  { title: 'Meaning', look: 'small stacked-last', cell: ({ meaning }) => meaning },
]

function SettingTable({ items }: { readonly items: readonly ShownSetting[] }) {
  if (items.length > 0) return <RecordTable label="Settings" rows={items} columns={COLUMNS} />
  return (
    <EmptyState icon="settings" title="No such setting">
      <p>Try another word from its name or meaning.</p>
    </EmptyState>
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
