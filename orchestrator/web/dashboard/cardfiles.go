package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"html/template"
	"io"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"

	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// Bounds of a form with files: their bytes with what stands between them, and its parts.
const (
	uploadMax = cards.FilesAll + 1<<20
	partsMax  = cards.FilesMax + 4
)

// cardFile is a file on a card, and what its reader may do with it.
type cardFile struct {
	cards.File
	Deletable bool
}

// showFile serves a file of a card. It comes from the origin of the pages, so a browser is to take nothing in it for one: a
// raster image is shown, all else is saved.
func (s *server) showFile(w http.ResponseWriter, r *http.Request) {
	story, err := s.Cards.Story(r.Context(), r.PathValue("id"))
	at := slices.IndexFunc(story.Files, func(f cards.File) bool { return f.ID == r.PathValue("file") })
	if err == nil && at < 0 {
		err = notFound("There is no such file on the card.")
	}
	var body io.ReadCloser
	if err == nil {
		body, err = s.Cards.OpenFile(r.Context(), story.Project, story.ID, story.Files[at].ID)
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	defer func() { _ = body.Close() }() // it was read only
	f, how, kind := story.Files[at], "attachment", "application/octet-stream"
	if f.IsImage() {
		how, kind = "inline", f.Type
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", mime.FormatMediaType(how, map[string]string{"filename": f.Name}))
	h.Set("Content-Length", strconv.FormatInt(f.Size, 10))
	_, _ = io.Copy(w, body) // a reader that has gone away needs none of it
}

// doAttach puts the files of a form on a card, one after another as they come.
func (s *server) doAttach(r *http.Request, by cards.Person) (string, error) {
	id := r.PathValue("id")
	parts, err := r.MultipartReader()
	if err != nil {
		return "", &cards.InputError{Text: "The form has no files."}
	}
	added, wrong := 0, "There are too many files at once."
	for range partsMax {
		part, err := parts.NextPart()
		switch {
		case errors.Is(err, io.EOF) && added > 0:
			return cardAddress(id) + "?said=attached#files", nil
		case errors.Is(err, io.EOF):
			return "", &cards.InputError{Text: "No file is chosen."}
		case err == nil && part.FileName() == "":
			continue
		}
		var body []byte
		if err == nil {
			body, err = io.ReadAll(io.LimitReader(part, cards.FileMax+1))
		}
		if err != nil {
			wrong = fmt.Sprintf("The rest has not come, or has more than %d MiB.", uploadMax>>20)
			break
		}
		_, err = s.Cards.Attach(r.Context(), cards.Attachment{ID: id, Name: part.FileName(), Body: body, By: by})
		if input, is := errors.AsType[*cards.InputError](err); is {
			wrong = input.Text
			break
		}
		if err != nil {
			return "", err
		}
		added++
	}
	if added > 0 {
		wrong = fmt.Sprintf("%d are on the card. %s", added, wrong)
	}
	return "", &cards.InputError{Text: wrong}
}

// doDetach removes a file from a card.
func (s *server) doDetach(r *http.Request, by cards.Person) (string, error) {
	id := r.PathValue("id")
	repo, err := s.repoOfCard(r)
	if err == nil {
		err = s.desk().Detach(r.Context(), id, r.PathValue("file"), by, access.Of(r.Context()).May(access.Admin, repo))
	}
	return cardAddress(id) + "?said=detached#files", err
}

// ownImage is the tag of an image of a card, as a renderer of Markdown leaves it: without the address that it is relative to.
var ownImage = regexp.MustCompile(`<img src="(board/cards/\w+/)?files/(\w+)" alt="([^"]*)">`)

// cardText renders a text of a card, with the images that are on cards.
func (s *server) cardText(root, card, text string) template.HTML {
	return template.HTML(ownImage.ReplaceAllStringFunc(string(s.rendered(text)), func(tag string) string {
		part := ownImage.FindStringSubmatch(tag)
		at := cmp.Or(part[1], cardAddress(card)+"/")
		return `<img src="` + root + at + "files/" + part[2] + `" alt="` + part[3] + `" loading="lazy">`
	}))
}

// markdown renders a text of no card. An image that is named by what it shows takes its place.
func (s *server) markdown(text string) template.HTML {
	return template.HTML(ownImage.ReplaceAllString(string(s.rendered(text)), "image: $3"))
}
