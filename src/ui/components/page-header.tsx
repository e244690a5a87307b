/** The head of a view: location, title and actions. Also sets the browser tab's title. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { takesFocus } from './heading-focus.ts'

interface PageHeaderProps {
  readonly title: string
  /** The current part of the view, for the browser's tab and its history. */
  readonly part?: string | undefined
  /** The views above it. */
  readonly above?: readonly { readonly label: string; readonly href: string }[]
  /** Buttons. */
  readonly children?: ComponentChildren
  /** One sentence below the title. */
  readonly lead?: ComponentChildren
}

/** Characters that would reorder the words around them. */
const UNSEEN = /[\p{Cc}\p{Bidi_Control}]/gu

export function PageHeader({ title, part, above = [], children, lead }: PageHeaderProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => {
    document.title = [part, title, 'Eider'].filter(Boolean).join(' · ').replace(UNSEEN, '')
  }, [title, part])
  useEffect(() => takesFocus(heading.current), [])
  return (
    <header class="page-header">
      <div class="page-title">
        {above.length > 0 && (
          <nav aria-label="Above" class="small quiet">
            {above.map(({ label, href }) => (
              <span key={href}>
                <a href={href} dir="auto">
                  {label}
                </a>{' '}
                /{' '}
              </span>
            ))}
          </nav>
        )}
        <h1 ref={heading} dir="auto" tabIndex={-1}>
          {title}
        </h1>
        {lead && <p class="quiet">{lead}</p>}
      </div>
      {children && <div class="row">{children}</div>}
    </header>
  )
}
