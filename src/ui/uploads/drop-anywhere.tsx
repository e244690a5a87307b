/** Files may be dropped anywhere: the view that is open takes them, or it is asked what becomes of them. */

import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { DEFAULT_PROJECT } from '../../core/domain/project.ts'
import { projects, refreshCatalog } from '../api/catalog.ts'
import { sendFile } from '../api/files.ts'
import { createKnowledgeBase, type KnowledgeBaseName } from '../api/knowledge-bases.ts'
import { ApiError, path, request } from '../api/request.ts'
import { mayUpload } from '../api/session.ts'
import { quoted } from '../api/sql.ts'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Failure, Progress } from '../components/failure.tsx'
import { SelectField, TextField } from '../components/form/field.tsx'
import { counted, shownBytes, shownCount, shownProject } from '../components/numbers.ts'
import { useAction } from '../components/resource.ts'
import { addressOf } from '../shell/addresses.ts'
import { tellFailed } from '../shell/notices.tsx'
import { droppedFiles, FILES_MAX, hasFiles, type NamedFile } from './picked-files.tsx'
import { addUploads } from './uploads.ts'

/** Files that were dropped or chosen, before it is said what becomes of them. */
export const givenFiles = signal<readonly NamedFile[] | undefined>(undefined)

/** What every view has that does not say itself what happens with files. */
export function DropAnywhere() {
  const files = givenFiles.value
  return (
    <>
      <DropZone
        label="Drop to add"
        onFiles={(dropped) => {
          givenFiles.value = dropped
        }}
      />
      {files && (
        <DropTarget
          files={files}
          onClose={() => {
            givenFiles.value = undefined
          }}
        />
      )}
    </>
  )
}

const NEW = ''
/** The sample's knowledge base is never where a person's own files go by default. */
export const SAMPLE_NAME = 'encyclopedia'
/** Files whose rows are a table: they can be read with SQL as they are. */
const TABLE = /\.(csv|tsv|xlsx|xls|ods|parquet)(\.gz)?$/i

/** What may become of files: tables are queried, documents are asked about, and both are added to a knowledge base. */
function DropTarget(props: { readonly files: readonly NamedFile[]; readonly onClose: () => void }) {
  const { files, onClose } = props
  const { route } = useLocation()
  const { target, fields } = useTarget()
  const { act, failure, isBusy } = useAction()
  const [sent, setSent] = useState<number>()
  const areTables = files.every(({ name }) => TABLE.test(name))
  const isTaken = failure instanceof ApiError && failure.code === 'file_exists'
  const bytes = files.reduce((sum, { content }) => sum + content.size, 0)
  const leave = (address: string) => {
    onClose()
    route(address)
  }
  const add = async () => {
    const { project, name } = await target()
    addUploads(project, name, files)
    leave(addressOf.addDocuments(project, name))
  }
  const ask = async () => {
    const place = await target()
    addUploads(place.project, place.name, files)
    const agent = await agentOver(place)
    leave(addressOf.agent(agent.project, agent.name))
  }
  const query = async (replaces: boolean) => {
    let first: string | undefined
    for (const { name, content } of files) {
      const signal = new AbortController().signal
      const stored = await sendFile({ name, content, replaces, signal, onSent: setSent })
      const [file] = stored.files
      first ??= file?.sheets[0]?.table ?? file?.name
      if (file === undefined) throw new Error(stored.failed[0]?.detail ?? 'Nothing was stored')
    }
    leave(addressOf.statement(`SELECT * FROM files.${quoted(first ?? '')} LIMIT 100`))
  }
  const button = (label: string, isFirst: boolean, work: () => Promise<void>) => (
    <Button
      look={isFirst ? 'primary' : ''}
      type={isFirst ? 'submit' : 'button'}
      label={label}
      aria-disabled={isBusy}
      onClick={isFirst ? undefined : () => act(work)}
    />
  )
  const it = files.length === 1 ? 'it' : 'them'
  return (
    <Dialog title={`Add ${counted(files.length, 'file')}`} onClose={onClose} staysOnClickBeside>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void act(areTables ? () => query(false) : ask)
        }}
      >
        <p class="quiet" dir="auto">
          {files
            .slice(0, NAMED_MAX)
            .map(({ name }) => name)
            .join(', ')}
          {files.length > NAMED_MAX && ` and ${shownCount(files.length - NAMED_MAX)} more`} ·{' '}
          {shownBytes(bytes)}
        </p>
        {fields}
        {sent !== undefined && isBusy && <Progress label="Sending" done={sent} total={bytes} />}
        {failure && <Failure error={failure} />}
        <div class="row end">
          <Button label="Cancel" onClick={onClose} />
          {areTables && isTaken && button(`Replace ${it}`, false, () => query(true))}
          {button(areTables ? 'Make searchable' : 'Add', false, add)}
          {areTables
            ? button(`Query ${it}`, true, () => query(false))
            : button(`Ask about ${it}`, true, ask)}
        </div>
      </form>
    </Dialog>
  )
}

const NAMED_MAX = 3

/** The knowledge base that is chosen, and the fields for that; a new one is made when it is needed. */
function useTarget() {
  const { path } = useLocation()
  const places = (projects.value ?? []).flatMap(({ name: project, knowledgeBases }) => {
    return knowledgeBases.map(({ name }) => ({
      project,
      name,
      key: JSON.stringify([project, name]),
    }))
  })
  // The one that is open, or a new one; also where they are known only after the files were dropped.
  const here = places.find(({ project, name }) => {
    const address = addressOf.knowledgeBase(project, name)
    return path === address || path.startsWith(`${address}/`)
  })
  const [picked, setPicked] = useState<string>()
  const isKnown = projects.value !== undefined
  const last = places.findLast(({ name }) => name !== SAMPLE_NAME)
  const chosen = picked ?? (here ?? last)?.key ?? NEW
  // From then on only the person changes it: not a knowledge base that is made elsewhere, nor another view.
  useEffect(() => {
    if (isKnown) setPicked((before) => before ?? chosen)
  }, [isKnown])
  const [name, setName] = useState('documents')
  const place = places.find(({ key }) => key === chosen)
  const target = async () => {
    if (place !== undefined) return place
    const made = { project: projects.value?.[0]?.name ?? DEFAULT_PROJECT, name: name.trim() }
    await createKnowledgeBase(made.project, { name: made.name })
    // It is there, whether the list of all can be read now or not.
    await refreshCatalog().catch(() => {})
    return made
  }
  const options = places.map(({ project, name: known, key }) => {
    return [key, `${known} (${shownProject(project)})`] as const
  })
  const fields = (
    <>
      {(places.length > 0 || !isKnown) && (
        <SelectField
          label="Knowledge base"
          value={place?.key ?? NEW}
          onChoose={setPicked}
          options={[...options, [NEW, 'A new one']]}
        />
      )}
      {place === undefined && (
        <TextField
          label="Name of the new knowledge base"
          required
          value={name}
          onText={(text) => {
            setName(text)
            setPicked(NEW)
          }}
        />
      )}
    </>
  )
  return { target, fields }
}

/** An agent that reads this knowledge base alone: one that is there, or a new one. */
async function agentOver({ project, name }: KnowledgeBaseName) {
  const reads = `${project}.${name}`
  const agents = projects.value?.find((one) => one.name === project)?.agents ?? []
  const known = agents.find(({ data }) => {
    return data.knowledge_bases?.join() === reads && (data.tables ?? []).length === 0
  })
  const agent = { name: known?.name ?? `${name}_agent`, data: { knowledge_bases: [reads] } }
  if (known === undefined) {
    try {
      await request(path`/api/projects/${project}/agents`, { method: 'POST', json: { agent } })
    } catch (error) {
      if (!(error instanceof ApiError && error.code === 'agent_exists')) throw error
    }
    await refreshCatalog().catch(() => {})
  }
  return { project, name: agent.name }
}

interface WindowDropProps {
  /** What happens with them: `Drop to add to teas`. */
  readonly label: string
  readonly onFiles: (files: NamedFile[]) => void
}

const taker = signal<WindowDropProps | undefined>(undefined)

/** Takes what is dropped while the view that holds it is open. */
export function WindowDrop({ label, onFiles }: WindowDropProps) {
  const latest = useRef(onFiles)
  latest.current = onFiles
  useEffect(() => {
    const mine = { label, onFiles: (files: NamedFile[]) => latest.current(files) }
    taker.value = mine
    return () => {
      if (taker.peek() === mine) taker.value = undefined
    }
  }, [label])
  return null
}

/** Without it, a browser opens a dropped file in place of the page, and all that was typed there is gone. */
export function DropZone({ label, onFiles }: WindowDropProps) {
  const [isOver, setIsOver] = useState(false)
  const here = taker.value ?? { label, onFiles }
  const latest = useRef(here)
  latest.current = here
  useEffect(() => {
    const abort = new AbortController()
    const { signal: ended } = abort
    const over = (event: DragEvent) => {
      if (event.defaultPrevented || !hasFiles(event.dataTransfer) || isOwnField(event)) return
      event.preventDefault()
      setIsOver(canTake())
    }
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setIsOver(false)
    }
    const drop = (event: DragEvent) => {
      const { dataTransfer, defaultPrevented } = event
      setIsOver(false)
      if (defaultPrevented || dataTransfer === null || isOwnField(event)) return
      if (!hasFiles(dataTransfer)) return
      event.preventDefault()
      if (!canTake()) return
      droppedFiles(dataTransfer).then((files) => {
        if (files.length === 0) tellFailed('There is no file in what was dropped')
        else latest.current.onFiles(files)
        if (files.length >= FILES_MAX) {
          tellFailed(
            `Only the first ${shownCount(FILES_MAX)} files are taken. Drop the rest after them`,
          )
        }
      }, tellFailed)
    }
    addEventListener('dragover', over, { signal: ended })
    addEventListener('dragleave', leave, { signal: ended })
    addEventListener('drop', drop, { signal: ended })
    return () => abort.abort()
  }, [])
  return isOver ? <div class="window-drop">{here.label}</div> : null
}

/** Only users who may upload files can drop them; an open dialog comes first. */
function canTake(): boolean {
  return mayUpload() && document.querySelector('dialog[open]') === null
}

/** A field for files takes them itself. */
function isOwnField({ target }: DragEvent): boolean {
  return target instanceof HTMLInputElement && target.type === 'file'
}
