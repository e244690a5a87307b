/** The statement and the request that give the same answer, to copy. */
import { useState } from 'preact/hooks'
import { type SearchOrder, search, searchPath } from '../../../api/search.ts'
import { CopyButton } from '../../../components/copy-button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useResource } from '../../../components/resource.ts'
import type { KnowledgeBaseAddress } from '../../knowledge-base/knowledge-base-frame.tsx'

interface SameElsewhereProps {
  readonly place: KnowledgeBaseAddress
  readonly order: SearchOrder
}

export function SameElsewhere(props: SameElsewhereProps) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <button type="button" class="button small" onClick={() => setIsOpen(true)}>
        SQL, HTTP
      </button>
      {isOpen && (
        <Dialog title="The same by SQL and by HTTP" size="wide" onClose={() => setIsOpen(false)}>
          <Both {...props} />
        </Dialog>
      )}
    </>
  )
}

function Both({ place, order }: SameElsewhereProps) {
  const { project, name } = place
  const explained = useResource(
    (signal) => search(place, { ...order, explain: true }, signal),
    [project, name, order],
  )
  if (explained.failure) return <Failure error={explained.failure} onRetry={explained.reload} />
  if (explained.data === undefined) return <Loading what="the statement" />
  const sql = explained.data.explain?.sql ?? ''
  const { highlight: _, ...sent } = order
  const curl = curlOf(`${location.origin}${searchPath(project, name)}`, sent)
  return (
    <div class="stack">
      <div class="row">
        <h3>SQL</h3>
        <span class="grow" />
        <CopyButton text={sql} label="Copy the statement" />
        <a class="button small" href={`/sql?${new URLSearchParams({ q: sql, project })}`}>
          Open in SQL
        </a>
      </div>
      <pre class="panel pre">{sql}</pre>
      <div class="row">
        <h3>HTTP</h3>
        <span class="grow" />
        <CopyButton text={curl} label="Copy the request" />
      </div>
      <pre class="panel pre">{curl}</pre>
    </div>
  )
}

/** For a POSIX shell, where a text in single quotes holds anything but one. */
function curlOf(url: string, json: unknown): string {
  const body = JSON.stringify(json).replaceAll("'", "'\\''")
  return `curl -X POST '${url}' \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`
}
