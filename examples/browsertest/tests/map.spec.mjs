// The layer on a real map: every requirement, at / and below a prefix, with
// MapLibre 6 and 5.
import { expect, test } from '../fixture.mjs'
import { checkbox, drawn, jump, loaded, openMap, pixels, requests, rest, says } from '../map.mjs'

const ON = '1;activity;1;0;;'

for (const name of ['map', 'map-prefix', 'map-v5']) {
  test.describe(name, () => {
    test('is off until the box is ticked, and asks for nothing', async ({ page }) => {
      const asked = requests(page)
      await openMap(page, { site: name, view: '9/46.6/7.9' })
      await expect(checkbox(page)).not.toBeChecked()
      await rest(page)
      expect(asked.all()).toEqual([])
      expect(await drawn(page)).toEqual([])
      await loaded(page, () => checkbox(page).check())
      expect(asked.tiles().length).toBeGreaterThan(0)
      expect((await drawn(page, 'tiles')).length).toBeGreaterThan(20)
      await checkbox(page).uncheck()
      await rest(page)
      expect(await drawn(page)).toEqual([])
    })

    test('takes tiles to zoom 11 and the list from zoom 12', async ({ page }) => {
      const asked = requests(page)
      await openMap(page, { site: name, view: '11.9/45.2/10', state: ON })
      await expect.poll(() => drawn(page, 'tiles')).toHaveLength(3)
      await says(page, 'Zoom in to see every track')
      expect(asked.lists()).toEqual([])
      expect(asked.tiles().every(u => u.includes('/tiles/11/')), asked.tiles().join()).toBe(true)
      const before = asked.tiles()
      asked.forget()
      await loaded(page, () => jump(page, { zoom: 12 }))
      expect(asked.tiles().filter(u => !before.includes(u))).toEqual([]) // 5 takes those it had from the browser's cache
      expect(asked.lists()).toHaveLength(1)
      expect(await drawn(page, 'list')).toHaveLength(3)
      expect(await drawn(page, 'tiles')).toHaveLength(0)
      await says(page, '3 tracks')
      asked.forget()
      await loaded(page, () => jump(page, { center: [7.9, 46.6], zoom: 14 }))
      expect(asked.tiles()).toEqual([])
    })

    test('shows tracks under the pointer as text, from tiles and from the list', async ({ page }) => {
      for (const view of ['11/45.2/10', '13/45.2/10']) {
        await openMap(page, { site: name, view, state: ON })
        await expect.poll(() => drawn(page)).toHaveLength(3)
        await rest(page)
        await page.mouse.click(320, 240 + 3)
        const popup = page.getByRole('region', { name: '3 tracks here' })
        await expect(popup).toBeVisible()
        await expect(popup.getByRole('heading')).toHaveCount(3)
        await expect(popup).toContainText(`<img src=x onerror="document.title='broken'">`)
        await expect(popup).toContainText('<b>Someone</b>')
        await expect(popup).toContainText('Track without a name')
        await expect(popup.locator('img, b')).toHaveCount(0)
        await expect(popup.getByRole('link').first()).toHaveAttribute('rel', 'noopener noreferrer')
        expect(await page.title()).toBe('Public GPS tracks')
        await page.goto('about:blank')
      }
    })

    test('comes back at another visit and with every new style', async ({ page }) => {
      await openMap(page, { site: name, view: '13/45.2/10' })
      await loaded(page, () => checkbox(page).check())
      await page.getByLabel('Colours by').selectOption('source')
      await page.goto('about:blank')
      await openMap(page, { site: name, view: '13/45.2/10' }) // the address has nothing of it: the browser's storage does
      await expect.poll(() => drawn(page)).toHaveLength(3)
      await expect(checkbox(page)).toBeChecked()
      await expect(page.getByLabel('Colours by')).toHaveValue('source')
      for (const diff of [true, false]) {
        await page.evaluate(diff => {
          const { map } = /** @type {any} */ (window).demo
          map.setStyle({ version: 8, sources: {}, layers: [{ id: 'x', type: 'background', paint: { 'background-color': '#abcdef' } }] }, { diff })
        }, diff)
        await expect.poll(() => drawn(page), `diff: ${diff}`).toHaveLength(3)
      }
    })

    test('has a halo on imagery only, also when the base changes', async ({ page }) => {
      await openMap(page, { site: name, view: '13/45.2/10', state: ON })
      await expect.poll(() => drawn(page)).toHaveLength(3)
      await rest(page)
      expect(await pixels(page, [255, 255, 255])).toBe(0)
      await page.getByRole('radio', { name: 'Satellite' }).check()
      await expect.poll(() => drawn(page)).toHaveLength(3)
      await expect.poll(() => pixels(page, [255, 255, 255])).toBeGreaterThan(200)
      await page.getByRole('radio', { name: 'Map' }).check()
      await expect.poll(() => pixels(page, [255, 255, 255])).toBe(0)
      await expect.poll(() => drawn(page)).toHaveLength(3)
    })
  })
}
