/** The settings of a knowledge base. Each section is saved separately and lists its changes. */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { refreshCatalog } from '../../api/catalog.ts'
import { documentChanges } from '../../api/documents.ts'
import {
  countContents,
  getKnowledgeBase,
  type KnowledgeBaseName,
} from '../../api/knowledge-bases.ts'
import type { KnowledgeBase } from '../../api/records.ts'
import { path, request } from '../../api/request.ts'
import { Button, Icon } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { TextField } from '../../components/form/field.tsx'
import { Form } from '../../components/form/form.tsx'
import { Loaded } from '../../components/record-list.tsx'
import { usePolling, useResource } from '../../components/resource.ts'
import { tellDone } from '../../shell/notices.tsx'
import { ChunkingSettings } from './chunking-settings.tsx'
import { IndexSettings, SearchDefaults } from './index-settings.tsx'
import { KnowledgeBaseFrame } from './knowledge-base-frame.tsx'
import { EmbeddingSettings, RerankingSettings } from './model-settings.tsx'

/** How often to check while something is being rebuilt in the background. */
const ASK_AGAIN_MS = 1000

export function KnowledgeBaseSettingsView({ project, name }: KnowledgeBaseName) {
  const of = { project, name }
  const read = useResource(
    async (signal) => {
      const [kb, contents] = await Promise.all([
        getKnowledgeBase(project, name, signal),
        countContents(project, name, signal),
      ])
      return { kb, ...contents }
    },
    [project, name],
  )
  const { data, isLoading, reload } = read
  const changing = data?.kb.params.reembedding ?? data?.kb.params.keyword_index
  usePolling(() => {
    if (changing !== undefined && !isLoading) reload()
  }, ASK_AGAIN_MS)
  // Also updates the line below the name.
  useEffect(() => {
    documentChanges.value += 1
  }, [data?.kb.updated_at])
  const onSaved = () => {
    documentChanges.value += 1
    reload()
  }
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <Loaded of={read} what="the settings">
        {({ kb, documents, chunks }) => {
          const props = { of, kb, documents, chunks, onSaved }
          return (
            <div key={`${project}/${name}`} class="stack">
              {(kb.params.warnings ?? []).map((warning) => (
                <p key={warning} class="warning small">
                  {warning}
                </p>
              ))}
              <EmbeddingSettings {...props} />
              <IndexSettings {...props} />
              <RerankingSettings {...props} />
              <SearchDefaults {...props} />
              <ChunkingSettings {...props} />
              <Columns kb={kb} />
              <Deletion at={path`/api/projects/${project}/knowledge_bases/${name}`} name={name} />
            </div>
          )
        }}
      </Loaded>
    </KnowledgeBaseFrame>
  )
}

function Columns({ kb }: { readonly kb: KnowledgeBase }) {
  const metadata = kb.metadata_columns.map((one) => `${one} ${kb.metadata_types[one] ?? ''}`)
  return (
    <section class="panel stack" aria-label="Columns">
      <h2>Columns</h2>
      <Facts
        facts={[
          ['Content', kb.content_columns.join(', ') || 'none'],
          ['Id', kb.id_column || 'none'],
          ['Metadata', metadata.join(', ') || 'none'],
        ]}
      />
    </section>
  )
}

function Deletion({ at, name }: { readonly at: string; readonly name: string }) {
  const { route } = useLocation()
  const [isOpen, setIsOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const remove = async () => {
    await request(at, { method: 'DELETE' })
    tellDone(`Deleted ${name}`)
    route('/')
    // The knowledge base is deleted, even if reloading the list fails.
    await refreshCatalog().catch(() => {})
  }
  return (
    <section class="panel stack" aria-label="Export or delete">
      <h2>Export or delete</h2>
      <div class="row">
        <a class="button" href={`${at}/export`} download>
          <Icon name="download" />
          Export with its vectors
        </a>
        <Button icon="trash" label="Delete the knowledge base" onClick={() => setIsOpen(true)} />
      </div>
      {isOpen && (
        <Dialog title={`Delete ${name}?`} onClose={() => setIsOpen(false)} staysOnClickBeside>
          <Form verb="Delete" look="danger" isIncomplete={typed !== name} onSend={remove}>
            <p>
              All its documents, chunks and vectors are deleted permanently. Agents that read it are
              kept.
            </p>
            <TextField
              label={`Type ${name} to delete it`}
              value={typed}
              autocomplete="off"
              onText={setTyped}
            />
          </Form>
        </Dialog>
      )}
    </section>
  )
}
