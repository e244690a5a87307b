/** What else can be done with a statement: share it, keep it as a view, see its plan, run it again. */
import { useState } from 'preact/hooks'
import { CopyButton } from '../../../components/copy-button.tsx'
import { statementsOf } from '../../../components/editor/sql-code.ts'
import { linkOf } from '../link.ts'
import { valuesOf } from '../parameters.ts'
import type { Run } from '../runs.ts'
import type { SqlTab } from '../sql-tabs.ts'
import { parametersOf } from '../statement-at.ts'
import { HistoryDialog } from './history-dialog.tsx'
import { PlanDialog } from './plan-dialog.tsx'
import { ViewDialog } from './view-dialog.tsx'

type Open = 'none' | 'plan' | 'history' | 'view'

export function SqlActions({ tab, run }: { readonly tab: SqlTab; readonly run: Run | undefined }) {
  const [open, setOpen] = useState<Open>('none')
  const close = () => setOpen('none')
  const statement = meantOf(tab, run)
  const isEmpty = tab.sql.trim() === ''
  const link = linkOf(tab, location.origin)
  const others = [
    ['plan', 'Plan'],
    ['view', 'Save as view'],
  ] as const
  return (
    <div class="row">
      {link === undefined ? (
        <span class="small quiet">Too long for a link</span>
      ) : (
        <CopyButton label="Copy a link" text={link} />
      )}
      {others.map(([name, label]) => (
        <button
          key={name}
          type="button"
          class="button small"
          disabled={isEmpty}
          onClick={() => setOpen(name)}
        >
          {label}
        </button>
      ))}
      <button type="button" class="button small" onClick={() => setOpen('history')}>
        History
      </button>
      {open === 'plan' && <PlanDialog statement={statement} onClose={close} />}
      {open === 'view' && <ViewDialog sql={statement.sql} project={tab.project} onClose={close} />}
      {open === 'history' && <HistoryDialog onClose={close} />}
    </div>
  )
}

/** What ran last, as long as it stands in the text; else the first statement of the text. */
function meantOf(tab: SqlTab, run: Run | undefined) {
  const { sql: text, project, params: typed } = tab
  const ran = run?.statement.sql
  const [first] = statementsOf(text)
  const isThere = ran !== undefined && text.includes(ran)
  const sql = isThere ? ran : text.slice(first?.from ?? 0, first?.to)
  return { sql, project, params: valuesOf(typed, parametersOf(sql)).params, session: tab.id }
}
