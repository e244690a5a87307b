/** A project: its knowledge bases with what is in them, its agents, views and jobs. It can be deleted, but for the first one. */
import { useState } from 'preact/hooks'
import { deleteProject, type ListedView, type ProjectContents } from '../../api/catalog.ts'
import type { UsageByName } from '../../api/knowledge-bases.ts'
import type { Schedule } from '../../api/records.ts'
import { may } from '../../api/session.ts'
import { quoted } from '../../api/sql.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Icon } from '../../components/icon.tsx'
import { counted, shownAge, shownTime } from '../../format/numbers.ts'
import { addressOf } from '../../shell/addresses.ts'
import { AgentEntry } from './agent-entry.tsx'
import { EntryList } from './entry-list.tsx'
import { KnowledgeBaseEntry } from './knowledge-base-entry.tsx'

/** The project that is always there. */
const FIRST_PROJECT = 'mindsdb'

interface ProjectPanelProps {
  readonly project: ProjectContents
  readonly usage: UsageByName | undefined
}

export function ProjectPanel({ project, usage }: ProjectPanelProps) {
  const [isDeleting, setIsDeleting] = useState(false)
  const { name, knowledgeBases, agents, views, schedules } = project
  const newHere = `?${new URLSearchParams({ project: name })}`
  return (
    <section class="panel stack" aria-label={`Project ${name}`}>
      <div class="row">
        <h2 class="grow" dir="auto">
          {name}
        </h2>
        {may('write') && name !== FIRST_PROJECT && (
          <Button
            look="small quiet"
            icon="trash"
            label="Delete"
            aria-label={`Delete project ${name}`}
            onClick={() => setIsDeleting(true)}
          />
        )}
      </div>
      <EntryList title="Knowledge bases" all={knowledgeBases} isWide>
        {(one) => (
          <KnowledgeBaseEntry
            key={one.id}
            project={name}
            knowledgeBase={one}
            usage={usage?.(name, one.name)}
          />
        )}
      </EntryList>
      {knowledgeBases.length === 0 && (
        <p class="quiet">
          No knowledge base yet.{' '}
          {may('write') && (
            <>
              <a href={`${addressOf.newKnowledgeBase()}${newHere}`}>Create one</a>
              {agents.length === 0 && (
                <>
                  , or <a href={`${addressOf.newAgent()}${newHere}`}>an agent</a>
                </>
              )}
              .
            </>
          )}
        </p>
      )}
      <div class="home-parts">
        <EntryList title="Agents" all={agents}>
          {(agent) => <AgentEntry key={agent.name} project={name} agent={agent} />}
        </EntryList>
        <EntryList title="Views" all={views}>
          {(view) => <ViewEntry key={view.id} view={view} />}
        </EntryList>
        <EntryList title="Scheduled jobs" all={schedules}>
          {(schedule) => <ScheduleEntry key={schedule.id} schedule={schedule} />}
        </EntryList>
      </div>
      {isDeleting && (
        <ConfirmDialog
          title={`Delete the project ${name}?`}
          verb="Delete"
          onConfirm={() => deleteProject(name)}
          onClose={() => setIsDeleting(false)}
        >
          {counted(knowledgeBases.length, 'knowledge base')} with all documents,{' '}
          {counted(agents.length, 'agent')} and every view and table in it are gone for good.
        </ConfirmDialog>
      )}
    </section>
  )
}

function ViewEntry({ view: { project, name } }: { readonly view: ListedView }) {
  const sql = `SELECT * FROM ${quoted(project)}.${quoted(name)}`
  return (
    <li>
      <Icon name="sql" />
      <a class="one-line" dir="auto" href={addressOf.statement(sql)}>
        {name}
      </a>
    </li>
  )
}

function ScheduleEntry({ schedule }: { readonly schedule: Schedule }) {
  const { name, schedule_str: rhythm, next_run_at: next } = schedule
  return (
    <li>
      <Icon name="clock" />
      <a class="one-line" dir="auto" href="/operations/jobs">
        {name}
      </a>
      <span class="home-about small quiet">
        {rhythm ?? 'once'}
        {next === null ? ', is over' : ', next '}
        {next !== null && <span title={shownTime(next)}>{shownAge(next, Date.now())}</span>}
      </span>
    </li>
  )
}
