/** Asks which knowledge base files go into, and makes a new one where that is wanted. */
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { projects, refreshCatalog } from '../api/catalog.ts'
import { createKnowledgeBase } from '../api/knowledge-bases.ts'
import { mayUpload } from '../api/session.ts'
import { SelectField, TextField } from '../components/form/field.tsx'
import { FormDialog } from '../components/form/form.tsx'
import { counted, shownBytes, shownCount } from '../components/numbers.ts'
import { addressOf } from '../shell/addresses.ts'
import { tellFailed } from '../shell/notices.tsx'
import { droppedFiles, FILES_MAX, hasFiles, type NamedFile } from './picked-files.tsx'
import { addUploads } from './uploads.ts'

/** Files that somebody gave, before it is said where they go. */
export const givenFiles = signal<readonly NamedFile[] | undefined>(undefined)

/** What every view has that does not say itself what happens with files. */
export function DropAnywhere() {
  const files = givenFiles.value
  return (
    <>
      <DropZone
        label="Drop to add to a knowledge base"
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

interface DropTargetProps {
  readonly files: readonly NamedFile[]
  readonly onClose: () => void
}

const NEW = ''

function DropTarget({ files, onClose }: DropTargetProps) {
  const { route, path } = useLocation()
  const places = (projects.value ?? []).flatMap(({ name: project, knowledgeBases }) => {
    return knowledgeBases.map(({ name }) => ({
      project,
      name,
      key: JSON.stringify([project, name]),
    }))
  })
  // The one that is looked at, or the first: also where they are known only after the files were dropped.
  const here = places.find(({ project, name }) => {
    const address = addressOf.knowledgeBase(project, name)
    return path === address || path.startsWith(`${address}/`)
  })
  const [picked, setPicked] = useState<string>()
  const chosen = picked ?? (here ?? places[0])?.key ?? NEW
  const isKnown = projects.value !== undefined
  // From then on only the person changes it: not a knowledge base that is made elsewhere, nor another view.
  useEffect(() => {
    if (isKnown) setPicked((before) => before ?? chosen)
  }, [isKnown])
  const [name, setName] = useState('documents')
  const place = places.find(({ key }) => key === chosen)
  const add = async () => {
    const target = place ?? { project: projects.value?.[0]?.name ?? 'mindsdb', name: name.trim() }
    if (place === undefined) {
      await createKnowledgeBase(target.project, { name: target.name })
      // It is there, whether the list of all can be read now or not.
      await refreshCatalog().catch(() => {})
    }
    addUploads(target.project, target.name, files)
    onClose()
    route(addressOf.addDocuments(target.project, target.name))
  }
  const bytes = files.reduce((sum, { content }) => sum + content.size, 0)
  return (
    <FormDialog
      title={`Add ${counted(files.length, 'file')}`}
      verb="Add"
      onSubmit={add}
      onClose={onClose}
    >
      <p class="quiet">
        {shownBytes(bytes)}. They are read and split into chunks, and can then be searched.
      </p>
      <SelectField
        label="Knowledge base"
        value={place?.key ?? NEW}
        onChoose={setPicked}
        options={[
          ...places.map(({ project, name: known, key }) => [key, `${known} (${project})`] as const),
          [NEW, 'A new one'],
        ]}
      />
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
    </FormDialog>
  )
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

/** Whoever may store no files adds none; what stands over the page comes first. */
function canTake(): boolean {
  return mayUpload() && document.querySelector('dialog[open]') === null
}

/** A field for files takes them itself. */
function isOwnField({ target }: DragEvent): boolean {
  return target instanceof HTMLInputElement && target.type === 'file'
}
