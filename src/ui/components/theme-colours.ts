/** Reads the colours of the style sheets in the current theme, for drawing on a canvas. */

/** Returns `rgb(…)` for a token such as `--series-1`, which may be a `light-dark(…)`. */
export function colourReader(element: HTMLElement): (token: string) => string {
  return (token) => {
    const probe = document.createElement('span')
    probe.style.color = `var(${token})`
    // If the system forces its own colours, text would have the same colour as the panel below it.
    probe.style.forcedColorAdjust = 'none'
    element.append(probe)
    const { color } = getComputedStyle(probe)
    probe.remove()
    return color
  }
}

/** Between light and dark. @returns a function that stops this */
export function watchTheme(redraw: () => void): () => void {
  const themes = new MutationObserver(redraw)
  themes.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  const scheme = matchMedia('(prefers-color-scheme: dark)')
  scheme.addEventListener('change', redraw)
  return () => {
    themes.disconnect()
    scheme.removeEventListener('change', redraw)
  }
}
