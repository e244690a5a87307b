/** A project: its knowledge bases with what is in them, its agents and views. It can be deleted, but for the first one. */
import { useState } from 'preact/hooks'
import { deleteProject, type ProjectContents } from '../../api/catalog.ts'
import { countContents } from '../../api/knowledge-bases.ts'
import type { KnowledgeBase, View } from '../../api/records.ts'
import { path, request } from '../../api/request.ts'
import { quoted } from '../../api/sql.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Icon } from '../../components/icon.tsx'
import { useResource } from '../../components/resource.ts'
import { counted, shownAge, shownTime } from '../../format/numbers.ts'
import { addressOf } from '../../shell/addresses.ts'

/** The project that is always there. */
const FIRST_PROJECT = 'mindsdb'
/** More are found by the navigation and the palette. */
const SHOWN_MAX = 50

export function ProjectPanel({ project }: { readonly project: ProjectContents }) {
  const [isDeleting, setIsDeleting] = useState(false)
  const { name, knowledgeBases, agents } = project
  return (
    <section class="panel stack" aria-label={`Project ${name}`}>
      <div class="row">
        <h2 class="grow" dir="auto">
          {name}
        </h2>
        {name !== FIRST_PROJECT && (
          <button
            type="button"
            class="button small quiet"
            aria-label={`Delete project ${name}`}
            onClick={() => setIsDeleting(true)}
          >
            <Icon name="trash" />
            Delete
          </button>
        )}
      </div>
      <KnowledgeBases project={name} all={knowledgeBases} />
      {agents.length > 0 && (
        <>
          <h3>Agents</h3>
          <ul class="home-entries">
            {agents.slice(0, SHOWN_MAX).map((agent) => (
              <li key={agent.name}>
                <Icon name="agent" />
                <a class="one-line" dir="auto" href={addressOf.agent(name, agent.name)}>
                  {agent.name}
                </a>
              </li>
            ))}
            <More count={agents.length - SHOWN_MAX} />
          </ul>
        </>
      )}
      <Views project={name} />
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

interface KnowledgeBasesProps {
  readonly project: string
  readonly all: readonly KnowledgeBase[]
}

function KnowledgeBases({ project, all }: KnowledgeBasesProps) {
  if (all.length === 0) return <p class="quiet">No knowledge base yet.</p>
  return (
    <ul class="home-entries">
      {all.slice(0, SHOWN_MAX).map((one) => (
        <KnowledgeBaseEntry key={one.id} project={project} knowledgeBase={one} />
      ))}
      <More count={all.length - SHOWN_MAX} />
    </ul>
  )
}

interface KnowledgeBaseEntryProps {
  readonly project: string
  readonly knowledgeBase: KnowledgeBase
}

function KnowledgeBaseEntry({ project, knowledgeBase }: KnowledgeBaseEntryProps) {
  const {
    name,
    updated_at: changed,
    insert_finished_at: filled,
    insert_error: error,
  } = knowledgeBase
  const { data } = useResource(
    (signal) => countContents(project, name, signal),
    [project, name, changed, filled],
  )
  const last = filled ?? changed
  return (
    <li>
      <Icon name="database" />
      <a class="one-line" dir="auto" href={addressOf.knowledgeBase(project, name)}>
        {name}
      </a>
      <span class="small quiet">
        {data === undefined
          ? '…'
          : `${counted(data.documents, 'document')} · ${counted(data.chunks, 'chunk')} · `}
        <span title={shownTime(last)}>{shownAge(last, Date.now())}</span>
      </span>
      {error && <span class="badge bad">The last insert failed</span>}
      <span class="home-ways">
        <a href={addressOf.searchLab(project, name)} aria-label={`Search ${name}`}>
          Search
        </a>
        <a href={addressOf.addDocuments(project, name)} aria-label={`Add to ${name}`}>
          Add
        </a>
      </span>
    </li>
  )
}

function Views({ project }: { readonly project: string }) {
  const { data } = useResource(
    (signal) => request<readonly View[]>(path`/api/projects/${project}/views`, { signal }),
    [project],
  )
  if (data === undefined || data.length === 0) return null
  return (
    <>
      <h3>Views</h3>
      <ul class="home-entries">
        {data.slice(0, SHOWN_MAX).map(({ id, name }) => (
          <li key={id}>
            <Icon name="sql" />
            <a
              class="one-line"
              dir="auto"
              href={addressOf.statement(`SELECT * FROM ${quoted(project)}.${quoted(name)}`)}
            >
              {name}
            </a>
          </li>
        ))}
        <More count={data.length - SHOWN_MAX} />
      </ul>
    </>
  )
}

function More({ count }: { readonly count: number }) {
  if (count <= 0) return null
  return <li class="small quiet">and {counted(count, 'more', 'more')}: find them by Ctrl+K</li>
}
