import type { ButtonHTMLAttributes } from 'preact'
import { useState } from 'preact/hooks'

export interface ButtonProps
  extends Omit<ButtonHTMLAttributes, 'icon' | 'label' | 'type' | 'class'> {
  /** `primary`, `danger`, `quiet`, `small`, `icon-only`, or several of these. */
  readonly look?: string
  readonly icon?: IconName | undefined
  /** The button's text. Use children if more than text is needed. */
  readonly label?: string
  readonly type?: 'button' | 'submit'
}

export function Button({ look = '', icon, label, type = 'button', ...others }: ButtonProps) {
  const { children = label, ...attributes } = others
  return (
    <button {...attributes} type={type} class={`button ${look}`}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

const SHOWN_MS = 1500

export function CopyButton(props: {
  readonly text: string | (() => string)
  readonly label?: string
}) {
  const { text, label = 'Copy' } = props
  const [copied, setCopied] = useState<'no' | 'yes' | 'refused'>('no')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
      setCopied('yes')
    } catch {
      setCopied('refused')
    }
    setTimeout(() => setCopied('no'), SHOWN_MS)
  }
  const words = { no: label, yes: 'Copied', refused: 'Your browser did not allow it' }
  return (
    <Button look="small" icon={copied === 'yes' ? 'check' : 'copy'} onClick={copy}>
      <span aria-live="polite">{words[copied]}</span>
    </Button>
  )
}

/** 24 by 24 units, in the text colour. Decorative, so they need a text beside them. */
const PATHS = {
  home: 'M3 11l9-8 9 8M5 10v10h5v-6h4v6h5V10',
  database: 'M4 6c0-4 16-4 16 0v12c0 4-16 4-16 0zM4 6c0 4 16 4 16 0M4 12c0 4 16 4 16 0',
  agent: 'M12 3v4M5 7h14v11H5zM9 12h.01M15 12h.01M2 11v4M22 11v4M9 21h6',
  sql: 'M4 5l5 5-5 5M11 18h9',
  search: 'M10.5 4a6.5 6.5 0 110 13 6.5 6.5 0 010-13M15.5 15.5L21 21',
  map: 'M6 6h.01M10 14h.01M16 8h.01M18 16h.01M5 17h.01M13 19h.01M12 5h.01M20 11h.01',
  gauge: 'M4 18a9 9 0 1116 0M12 15l4-6',
  book: 'M5 4h11a3 3 0 013 3v13H8a3 3 0 01-3-3zM5 17a3 3 0 013-3h11',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  menu: 'M4 6h16M4 12h16M4 18h16',
  warning: 'M12 3l10 18H2zM12 10v5M12 18h.01',
  check: 'M5 12l5 5 9-10',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13',
  edit: 'M4 20l1-5L16 4l4 4L9 19z',
  play: 'M7 4l13 8-13 8z',
  stop: 'M6 6h12v12H6z',
  upload: 'M12 16V4M7 9l5-5 5 5M4 20h16',
  download: 'M12 4v12M7 11l5 5 5-5M4 20h16',
  link: 'M10 14a4 4 0 006 0l4-4a4 4 0 00-6-6l-1 1M14 10a4 4 0 00-6 0l-4 4a4 4 0 006 6l1-1',
  chart: 'M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6',
  chat: 'M4 5h16v11H10l-5 4v-4H4z',
  file: 'M6 3h8l5 5v13H6zM14 3v5h5',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4',
  sun: 'M12 8a4 4 0 110 8 4 4 0 010-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.500 1.500M17.500 17.500L19 19M5 19l1.500-1.500M17.500 6.500L19 5',
  contrast: 'M12 3a9 9 0 110 18 9 9 0 010-18M12 3v18M12 8h6M12 12h9M12 16h6',
  moon: 'M20 14A8 8 0 0110 4a8 8 0 1010 10z',
  key: 'M8 11a4 4 0 110 8 4 4 0 010-8M11 12l9-9M16 7l3 3',
  user: 'M12 4a4 4 0 110 8 4 4 0 010-8M4 21c0-8 16-8 16 0',
  leave: 'M10 4H4v16h6M10 12h11M17 8l4 4-4 4',
  pause: 'M8 5v14M16 5v14',
  clock: 'M12 3a9 9 0 110 18 9 9 0 010-18M12 7v5l3 2',
  disk: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01',
  arrow: 'M5 12h14M13 6l6 6-6 6',
  down: 'M6 9l6 6 6-6',
  filter: 'M3 5h18l-7 8v6l-4-2v-4z',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
