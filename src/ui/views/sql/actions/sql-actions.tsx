/** What else can be done with a statement: share it, keep it as a view, see its plan, run it again. */
import { useState } from 'preact/hooks'
import { may } from '../../../api/session.ts'
import { Button } from '../../../components/button.tsx'
import { CopyButton } from '../../../components/copy-button.tsx'
import type { Span } from '../../../components/editor/sql-code.ts'
import { linkOf } from '../link.ts'
import { valuesOf } from '../parameters.ts'
import type { Run } from '../runs.ts'
import type { SqlTab } from '../sql-tabs.ts'
import { parametersOf, statementAtHand } from '../statement-at.ts'
import { HistoryDialog } from './history-dialog.tsx'
import { PlanDialog } from './plan-dialog.tsx'
import { ViewDialog } from './view-dialog.tsx'

type Open = 'none' | 'plan' | 'history' | 'view'

interface SqlActionsProps {
  readonly tab: SqlTab
  readonly run: Run | undefined
  /** Where the cursor is, or what is selected. */
  readonly selection: () => Span
}

export function SqlActions({ tab, run, selection }: SqlActionsProps) {
  const [open, setOpen] = useState<Open>('none')
  const close = () => setOpen('none')
  const meant = () => meantOf(tab, run, selection())
  const isEmpty = tab.sql.trim() === ''
  const link = linkOf(tab, location.origin)
  const others = [
    ['plan', 'Plan'],
    ...(may('write') ? ([['view', 'Save as view']] as const) : []),
  ] as const
  return (
    <div class="row">
      {link === undefined ? (
        <span class="small quiet">Too long for a link</span>
      ) : (
        <CopyButton label="Copy a link" text={link} />
      )}
      {others.map(([name, label]) => (
        <Button
          look="small"
          label={label}
          key={name}
          disabled={isEmpty}
          onClick={() => setOpen(name)}
        />
      ))}
      <Button look="small" label="History" onClick={() => setOpen('history')} />
      {open === 'plan' && <PlanDialog statement={meant()} onClose={close} />}
      {open === 'view' && <ViewDialog sql={meant().sql} project={tab.project} onClose={close} />}
      {open === 'history' && <HistoryDialog onClose={close} />}
    </div>
  )
}

function meantOf(
  { id, sql: text, project, params: typed }: SqlTab,
  run: Run | undefined,
  at: Span,
) {
  const sql = statementAtHand(text, run?.statement.sql, at)
  return { sql, project, params: valuesOf(typed, parametersOf(sql)).params, session: id }
}
