/** The files on the server, the newest first. */
import { listFiles } from '../../api/files.ts'
import { quoted } from '../../api/sql.ts'
import { Failure } from '../../components/failure.tsx'
import { useResource } from '../../components/resource.ts'
import { counted, shownBytes } from '../../format/numbers.ts'
import { addressOf } from '../../shell/addresses.ts'
import { sampleLoading } from './load-sample.ts'

const SHOWN_MAX = 8

export function FileList() {
  const { data, failure, reload } = useResource(listFiles, [sampleLoading.value?.step])
  if (failure && data === undefined) return <Failure error={failure} onRetry={reload} />
  if (data === undefined || data.length === 0) return null
  const newest = [...data].sort((a, b) => b.id - a.id).slice(0, SHOWN_MAX)
  return (
    <section class="panel stack" aria-labelledby="home-file-list">
      <h2 id="home-file-list">
        Files <span class="quiet small">{data.length}</span>
      </h2>
      <ul class="home-entries">
        {newest.map(({ id, name, format, size_bytes: bytes, row_count: rows }) => (
          <li key={id}>
            <a
              class="one-line"
              dir="auto"
              href={addressOf.statement(`SELECT * FROM files.${quoted(name)}`)}
              title="Open in SQL"
            >
              {name}
            </a>
            <span class="small quiet">
              {format} · {shownBytes(bytes)} · {counted(rows, 'row')}
            </span>
          </li>
        ))}
        {data.length > SHOWN_MAX && (
          <li class="small quiet">and {counted(data.length - SHOWN_MAX, 'more', 'more')}</li>
        )}
      </ul>
    </section>
  )
}
