/** The statement and the request that give the same answer, to copy. */
import { useState } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { type SearchOrder, search, searchPath } from '../../../api/search.ts'
import { Button } from '../../../components/button.tsx'
import { CopyButton } from '../../../components/copy-button.tsx'
import { Dialog } from '../../../components/dialog.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useResource } from '../../../components/resource.ts'

interface SameElsewhereProps {
  readonly place: KnowledgeBaseName
  readonly order: SearchOrder
}

export function SameElsewhere(props: SameElsewhereProps) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <Button look="small" label="SQL, HTTP" onClick={() => setIsOpen(true)} />
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
        {sql.length <= OPENED_CHARS_MAX && <OpenInSql sql={sql} project={project} />}
      </div>
      <pre class="panel pre">{shownOf(sql)}</pre>
      <div class="row">
        <h3>HTTP</h3>
        <span class="grow" />
        <CopyButton text={curl} label="Copy the request" />
      </div>
      <pre class="panel pre">{shownOf(curl)}</pre>
    </div>
  )
}

/** What stands behind `#` stays in the browser: proxies refuse long addresses. */
const QUERY_CHARS_MAX = 4000
const OPENED_CHARS_MAX = 100_000

function OpenInSql({ sql, project }: { readonly sql: string; readonly project: string }) {
  const words = String(new URLSearchParams({ q: sql, project }))
  return (
    <a class="button small" href={`/sql${words.length > QUERY_CHARS_MAX ? '#' : '?'}${words}`}>
      Open in SQL
    </a>
  )
}

const SHOWN_CHARS_MAX = 10_000

/** Of a filter with thousands of documents the beginning; all of it is copied. */
function shownOf(text: string): string {
  if (text.length <= SHOWN_CHARS_MAX) return text
  const rest = (text.length - SHOWN_CHARS_MAX).toLocaleString('en')
  return `${text.slice(0, SHOWN_CHARS_MAX)}\n… and ${rest} characters more, which are copied too`
}

/** For a POSIX shell, where a text in single quotes holds anything but one. */
function curlOf(url: string, json: unknown): string {
  const body = JSON.stringify(json).replaceAll("'", "'\\''")
  return `curl -X POST '${url}' \\\n  -H 'Content-Type: application/json' \\\n  -d '${body}'`
}
