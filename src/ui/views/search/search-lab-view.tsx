import { useLocation } from 'preact-iso/router'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'
import { addressOf } from '../../shell/addresses.ts'
import { KnowledgeBaseFrame } from '../knowledge-base/knowledge-base-frame.tsx'
import { MeasurePart } from './measure/measure-part.tsx'
import { SearchPart } from './search-part.tsx'

export function SearchLabView({ project, name }: KnowledgeBaseName) {
  const { query } = useLocation()
  const isMeasured = query.part === 'measure'
  const href = addressOf.searchLab(project, name)
  const place = { project, name }
  return (
    <KnowledgeBaseFrame project={project} name={name}>
      <nav class="row" aria-label="Parts of the search lab">
        <a class="button small" href={href} aria-current={isMeasured ? undefined : 'true'}>
          Search
        </a>
        <a
          class="button small"
          href={`${href}?part=measure`}
          aria-current={isMeasured ? 'true' : undefined}
        >
          Measure
        </a>
      </nav>
      {isMeasured ? <MeasurePart place={place} /> : <SearchPart place={place} />}
    </KnowledgeBaseFrame>
  )
}
