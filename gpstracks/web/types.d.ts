// The types of the layer, for who checks or reads it; browsers do not load them.

/** What people have chosen. */
export interface State {
	on: boolean
	/** what colours mean */
	by: 'activity' | 'source'
	/** 0.1 to 1 */
	opacity: number
	/** tracks of at most this age; 0 = all, those without a date too */
	years: number
	/** activities that are hidden */
	noActivity: string[]
	/** sources that are hidden */
	noSource: string[]
}

/** What the page gives. Only map and Popup are required. */
export interface Options {
	/** a maplibregl.Map, version 5 or 6 */
	map: any
	/** maplibregl.Popup */
	Popup: any
	/** address of the list, from the page; default /api/gps-tracks */
	baseURL?: string
	/** whether the base is imagery now: asked when the style changes */
	isSatellite?: () => boolean
	/** layer of the style to stay below, such as its labels */
	beforeId?: string
	/** font of the names of tracks, one that the style's glyphs have; default one that the style writes with, or sans-serif if it has no glyphs */
	labelFont?: string
	/** the state when nothing is stored */
	initial?: Partial<State>
	/** names of all sources; default: those in health, and those seen */
	sources?: string[]
	/** colours instead of the palette, by name */
	activityColors?: Record<string, string>
	sourceColors?: Record<string, string>
	/** default gps-tracks */
	storageKey?: string
	/** default localStorage */
	storage?: Pick<Storage, 'getItem' | 'setItem'>
	/** keeps the state in the address too, as #…&<urlKey>=… */
	urlKey?: string
	/** the address of a track that popups hand on; without it they do not */
	share?: (id: number) => string
	/** default 250 */
	debounceMs?: number
	/** for pages that add credentials; tiles take the map's transformRequest */
	fetch?: typeof fetch
}

/** What is shown: detail of the event loaded. */
export interface Shown {
	mode: 'tiles' | 'list' | 'none' | 'empty'
	/** tracks of the list that pass the filters */
	shown: number
	/** tracks that there are in the view, if the server counts them */
	total?: number
	truncated: boolean
}

/** The properties of a track, in tiles and in the list. */
export interface Track {
	id: number
	name?: string
	activity: string
	source: string
	length_m: number
	recorded_on?: string | null
	url?: string
	attribution?: string
}

export interface Feature {
	properties: Track
	geometry?: any
}

/** How many tracks of each activity and source there are in the view. */
export interface Counts {
	activity: Record<string, number>
	source: Record<string, number>
}

/** The answer of the list. */
export interface List {
	features: Feature[]
	numberReturned: number
	numberMatched?: number
	truncated: boolean
}

/** What the layer uses of a map. */
export interface MapLike {
	on(name: string, f: (e: any) => void): void
	off(name: string, f: (e: any) => void): void
	queryRenderedFeatures(box: number[][] | undefined, options: object): Feature[]
	querySourceFeatures(id: string, options: object): Feature[]
	[method: string]: any
}

/** Its handlers, by the name of the event. */
export type Handlers = Record<string, (e: any) => void>

/** Makes an element; text is never markup. */
export type MakeElement = (tag: string, values: Record<string, any>, ...children: any[]) => any
