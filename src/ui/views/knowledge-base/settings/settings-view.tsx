/** The settings of a knowledge base: each part is saved by itself, and says what its change costs. */
import { useEffect } from 'preact/hooks'
import { documentChanges } from '../../../api/documents.ts'
import {
  countContents,
  getKnowledgeBase,
  type KnowledgeBaseName,
} from '../../../api/knowledge-bases.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { path } from '../../../api/request.ts'
import { Failure } from '../../../components/failure.tsx'
import { Loading } from '../../../components/progress.tsx'
import { usePolling, useResource } from '../../../components/resource.ts'
import { KnowledgeBaseFrame } from '../knowledge-base-frame.tsx'
import { ChunkingSettings } from './chunking-settings.tsx'
import { Deletion } from './deletion.tsx'
import { EmbeddingSettings } from './embedding-settings.tsx'
import { IndexSettings } from './index-settings.tsx'
import { RerankingSettings } from './reranking-settings.tsx'
import { SearchSettings } from './search-settings.tsx'

/** While something is made again in the background. */
const ASK_AGAIN_MS = 1000

export function KnowledgeBaseSettingsView({ project, name }: KnowledgeBaseName) {
  const of = { project, name }
  const read = useResource(
    async (signal) => {
      const [kb, { documents, chunks }] = await Promise.all([
        getKnowledgeBase(project, name, signal),
        countContents(project, name, signal),
      ])
      return { kb, documents, chunks }
    },
    [project, name],
  )
  const { data, failure, isLoading, reload } = read
  const changing = data?.kb.params.reembedding ?? data?.kb.params.keyword_index
  usePolling(() => {
    if (changing !== undefined && !isLoading) reload()
  }, ASK_AGAIN_MS)
  // The line below the name says so as well.
  useEffect(() => {
    documentChanges.value += 1
  }, [data?.kb.updated_at])
  const saved = () => {
    documentChanges.value += 1
    reload()
  }
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      {failure && <Failure error={failure} onRetry={reload} />}
      {isLoading && data === undefined && <Loading what="the settings" />}
      {data && (
        <div key={`${project}/${name}`} class="stack">
          {(data.kb.params.warnings ?? []).map((warning) => (
            <p key={warning} class="kb-warning small">
              {warning}
            </p>
          ))}
          <EmbeddingSettings of={of} kb={data.kb} onSaved={saved} />
          <IndexSettings of={of} chunks={data.chunks} onSaved={saved} />
          <RerankingSettings of={of} kb={data.kb} onSaved={saved} />
          <SearchSettings of={of} kb={data.kb} chunks={data.chunks} onSaved={saved} />
          <ChunkingSettings of={of} kb={data.kb} documents={data.documents} onSaved={saved} />
          <Columns kb={data.kb} />
          <Deletion at={path`/api/projects/${project}/knowledge_bases/${name}`} name={name} />
        </div>
      )}
    </KnowledgeBaseFrame>
  )
}

function Columns({ kb }: { readonly kb: KnowledgeBase }) {
  const facts = [
    ['Content', kb.content_columns.join(', ')],
    ['Id', kb.id_column],
    [
      'Metadata',
      kb.metadata_columns.map((one) => `${one} ${kb.metadata_types[one] ?? ''}`).join(', '),
    ],
  ]
  return (
    <section class="panel stack" aria-label="Columns">
      <h2>Columns</h2>
      <dl class="kb-facts">
        {facts.map(([term, value]) => (
          <div key={term}>
            <dt class="quiet">{term}</dt>
            <dd dir="auto">{value || 'none'}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
