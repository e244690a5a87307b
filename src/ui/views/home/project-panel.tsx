/**
 * A project with its knowledge bases, agents, views and jobs. All projects but the default one can
 * be deleted.
 */

import type { ComponentChildren } from 'preact'
import { DEFAULT_PROJECT, quote } from '../../../core/domain/names.ts'
import { deleteProject, type ProjectContents } from '../../api/catalog.ts'
import type { UsageByName } from '../../api/knowledge-bases.ts'
import type { KnowledgeBase, Usage } from '../../api/records.ts'
import { may } from '../../api/session.ts'
import { Icon, type IconName } from '../../components/button.tsx'
import { ConfirmButton } from '../../components/dialog.tsx'
import { wordsOfData } from '../../components/known-name.ts'
import { counted, shownAge, shownProject, shownTime } from '../../components/numbers.ts'
import { addressOf } from '../../shell/addresses.ts'

export function ProjectPanel(props: {
  readonly project: ProjectContents
  readonly usage: UsageByName | undefined
}) {
  const { project, usage } = props
  const { name, knowledgeBases, agents, views, schedules } = project
  return (
    <section class="panel stack" aria-label={`Project ${shownProject(name)}`}>
      <div class="row">
        <h2 class="grow">{shownProject(name)}</h2>
        {may('write') && name !== DEFAULT_PROJECT && (
          <ConfirmButton
            look="small quiet"
            icon="trash"
            label="Delete"
            aria-label={`Delete project ${name}`}
            asks={`Delete the project ${name}?`}
            onConfirm={() => deleteProject(name)}
          >
            {counted(knowledgeBases.length, 'knowledge base')} with all documents,{' '}
            {counted(agents.length, 'agent')} and every view and table in it are gone for good.
          </ConfirmButton>
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
      {knowledgeBases.length === 0 && <p class="quiet">No knowledge base yet.</p>}
      <div class="side-by-side">
        <EntryList title="Agents" all={agents}>
          {(agent) => (
            <HomeEntry
              key={agent.name}
              icon="agent"
              name={agent.name}
              href={addressOf.agent(name, agent.name)}
            >
              <span class="home-about small quiet one-line">{wordsOfData(agent, name)}</span>
            </HomeEntry>
          )}
        </EntryList>
        <EntryList title="Views" all={views}>
          {({ id, name: view }) => {
            const sql = `SELECT * FROM ${quote(name)}.${quote(view)}`
            return <HomeEntry key={id} icon="sql" name={view} href={addressOf.statement(sql)} />
          }}
        </EntryList>
        <EntryList title="Scheduled jobs" all={schedules}>
          {({ id, name: job, schedule_str: rhythm, next_run_at: next }) => (
            <HomeEntry key={id} icon="clock" name={job} href="/operations/jobs">
              <span class="home-about small quiet" title={next ? shownTime(next) : undefined}>
                {rhythm ?? 'once'}, {next === null ? 'ended' : `next ${shownAge(next, Date.now())}`}
              </span>
            </HomeEntry>
          )}
        </EntryList>
      </div>
    </section>
  )
}

/** One line with the kind, the name and details. */
export function HomeEntry(props: {
  readonly icon: IconName
  readonly name: string
  readonly href: string
  readonly children?: ComponentChildren
}) {
  const { icon, name, href, children } = props
  return (
    <li>
      <Icon name={icon} />
      <a class="one-line" href={href}>
        {name}
      </a>
      {children}
    </li>
  )
}

/** The navigation and the palette show the rest. */
const SHOWN_MAX = 50

interface EntryListProps<T> {
  readonly title: string
  readonly all: readonly T[]
  /** Whether entries have more details than a name. */
  readonly isWide?: boolean
  /** One line per entry, as an `<li>` with a key. */
  readonly children: (one: T) => ComponentChildren
}

function EntryList<T>({ title, all, isWide = false, children }: EntryListProps<T>) {
  if (all.length === 0) return null
  const rest = all.length - SHOWN_MAX
  return (
    <section class="list">
      <h3>
        {title} <span class="quiet small">{all.length}</span>
      </h3>
      <ul class={`home-entries ${isWide ? 'wide' : ''}`}>
        {all.slice(0, SHOWN_MAX).map(children)}
        {rest > 0 && (
          <li class="small quiet">and {counted(rest, 'more', 'more')}: find them with Ctrl+K</li>
        )}
      </ul>
    </section>
  )
}

function KnowledgeBaseEntry(props: {
  readonly project: string
  readonly knowledgeBase: KnowledgeBase
  /** Undefined until known. */
  readonly usage: Usage | undefined
}) {
  const { project, knowledgeBase, usage } = props
  const {
    name,
    updated_at: changed,
    insert_finished_at: filled,
    insert_error: error,
  } = knowledgeBase
  const last = filled ?? changed
  return (
    <HomeEntry icon="database" name={name} href={addressOf.knowledgeBase(project, name)}>
      <span class="home-about small quiet">
        {usage === undefined ? (
          <span>…</span>
        ) : (
          <span>
            {counted(usage.documents, 'document')} · {counted(usage.chunks, 'chunk')}
          </span>
        )}
        <span title={shownTime(last)}>{shownAge(last, Date.now())}</span>
        {error && <span class="badge bad">The last insert failed</span>}
      </span>
      <span class="row small home-ways">
        <a href={addressOf.searchLab(project, name)} aria-label={`Search ${name}`}>
          Search
        </a>
        <a href={addressOf.map(project, name)} aria-label={`Map of ${name}`}>
          Map
        </a>
        {may('write') && (
          <a href={addressOf.addDocuments(project, name)} aria-label={`Add to ${name}`}>
            Add
          </a>
        )}
      </span>
    </HomeEntry>
  )
}
