/** The head of a view: breadcrumbs, title and actions. Also sets the title of the browser tab. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { takesFocus } from './after-navigation.ts'

interface PageHeaderProps {
  readonly title: string
  /** The current part of the view, for the browser's tab and history. */
  readonly part?: string | undefined
  /** The views above this one. */
  readonly above?: readonly { readonly label: string; readonly href: string }[]
  readonly children?: ComponentChildren
  /** A sentence below the title. */
  readonly lead?: ComponentChildren
}

/** Characters that would reorder the text around them. */
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
                <a href={href}>{label}</a> /{' '}
              </span>
            ))}
          </nav>
        )}
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {lead && <p class="quiet">{lead}</p>}
      </div>
      {children && <div class="row">{children}</div>}
    </header>
  )
}
