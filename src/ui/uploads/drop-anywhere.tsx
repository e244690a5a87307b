/** Files can be dropped anywhere: the open view takes them, or a dialog asks what to do. */

import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { mayUpload } from '../api/session.ts'
import { lazyView } from '../components/failure.tsx'
import { shownCount } from '../components/numbers.ts'
import { tellFailed } from '../shell/notices.tsx'
import { droppedFiles, FILES_MAX, hasFiles, type NamedFile } from './picked-files.tsx'

const DropTarget = lazyView(async () => (await import('./drop-target.tsx')).DropTarget)

/** Files that were dropped or chosen and are waiting for the user's decision. */
export const givenFiles = signal<readonly NamedFile[] | undefined>(undefined)

/** For views that do not handle files themselves. */
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

interface WindowDropProps {
  /** Describes the effect of a drop, such as `Drop to add to teas`. */
  readonly label: string
  readonly onFiles: (files: NamedFile[]) => void
}

const taker = signal<WindowDropProps | undefined>(undefined)

/** Takes dropped files while its view is open. */
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

/** Otherwise the browser opens a dropped file, and all input is lost. */
function DropZone({ label, onFiles }: WindowDropProps) {
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
        if (files.length === 0) tellFailed('You did not drop any files')
        else latest.current.onFiles(files)
        if (files.length >= FILES_MAX) {
          tellFailed(
            `Only the first ${shownCount(FILES_MAX)} files are added. Drop the rest afterwards`,
          )
        }
      }, tellFailed)
    }
    addEventListener('dragover', over, { signal: ended })
    addEventListener('dragleave', leave, { signal: ended })
    addEventListener('drop', drop, { signal: ended })
    return () => abort.abort()
  }, [])
  return isOver ? <div class="empty-state window-drop">{here.label}</div> : null
}

/** Only users who may upload can drop files. An open dialog takes precedence. */
function canTake(): boolean {
  return mayUpload() && document.querySelector('dialog[open]') === null
}

/** A file field handles its own drops. */
function isOwnField({ target }: DragEvent): boolean {
  return target instanceof HTMLInputElement && target.type === 'file'
}
