package stage

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The texts of comments and notices. They stand in one place, beside the code
// that decides, so that what people read is what was decided. A comment has two lines
// at most; docs/operations.md lists them.
const (
	wordsApproval      = "The requirements are ready. Set the status Approved to go on, or Rejected with a comment that says why."
	wordsApproveNotice = "approval needed: the requirements are ready for review"
	wordsVerdict       = "a human's verdict on the requirements"
	wordsCannotApprove = "the requirements cannot be approved: "
	wordsWorkAgain     = "Set the status In Progress to run the analyst again, or Rejected with a comment that says what is wrong."
	wordsOutdated      = "the requirements have changed since Approved was set; look at them and set it again"
	wordsVouchOutdated = "the commit has changed since Approved was set; look at it and set it again"
	wordsReadOutdated  = "the task has moved on since that was read; look at it and decide again"
	wordsConfirm       = "The deployment is prepared. Set the status Confirm Deploy to merge and deploy it."
	wordsConfirmMerge  = "Set the status Confirm Deploy to merge it; nothing is deployed."
	wordsConfirmNotice = "approval needed: the deployment waits for Confirm Deploy"
)

// Remedy tells a person in the imperative what to do for a task that is held for one, and the
// board status that lets it go on.
func Remedy(s State) (do string, to Status) {
	switch {
	case s.Hold == HoldApproval && s.Refused != "":
		return "Set In Progress on the card to run the analyst again, or Rejected with a comment that says what is wrong", StatusInProgress
	case s.Hold == HoldApproval && s.Stage == Development && s.Set == StatusNeedsInput:
		return "Set Approved on the card to confirm that nothing is to be done, " +
			"or say in a comment what is and set In Progress to run the developer again", StatusApproved
	case s.Hold == HoldApproval && s.Lane == UndoLane:
		return "Set Approved on the card to let the commit pass, or STOP to give the undo up", StatusApproved
	case s.Hold == HoldApproval && s.Stage == Development:
		return "Set Approved on the card to let the commit pass, In Progress to run the developer again, " +
			"or Rejected with a comment that says what is wrong", StatusApproved
	case s.Hold == HoldApproval:
		return "Set Approved on the card, or Rejected with a comment that says what is wrong", StatusApproved
	case s.Hold == HoldConfirm:
		return "Set Confirm Deploy on the card, or Rejected with a comment that says why", StatusConfirmDeploy
	case s.Hold == HoldNeedsInput:
		return "Answer in a comment on the card, then set In Progress", StatusInProgress
	case s.Outside && s.Stage == Deploy:
		return "See to that at the git host, then set In Progress on the card to merge again, " +
			"or Rejected with a comment to send it back to development", StatusInProgress
	case s.Outside && s.Phase == PhaseCatchUp:
		return "See to the task that has the merge lease, then set In Progress on the card to have it stand in line again", StatusInProgress
	case s.Outside:
		return "See to that, which no agent can: the task goes on by itself then, " +
			"and In Progress on the card has it looked at again", StatusInProgress
	case s.Stage == Deploy:
		return "Set In Progress on the card to deploy again, or Rejected with a comment to send it back to development", StatusInProgress
	default:
		return "Set In Progress on the card to try again", StatusInProgress
	}
}

func wordsStart(next Role, follows string) string {
	text := fmt.Sprintf("The task is taken up: the %s is next.", next)
	if follows != "" {
		text += fmt.Sprintf(" It is a follow-up of %s, which stays done.", follows)
	}
	return text
}

func wordsRefused(reason string) string {
	return "The pipeline has not started: " + brief(reason) + "\nCorrect the work item and set To Analyse again."
}

func wordsNotApproved(reason string) string {
	return "The approval cannot be taken yet: " + brief(reason) + "\n" + wordsWorkAgain
}

func wordsVouch(reason string) string {
	return "A person has to stand for this commit: " + brief(reason) +
		"\nLook at it. Set the status Approved to let it pass, Rejected with a comment that says what is wrong, " +
		"or In Progress to run the developer again."
}

func wordsNothingDone(reason string) string {
	return "Is there nothing to be done? " + brief(reason) +
		"\nSet the status Approved to confirm that nothing is, " +
		"or say in a comment what is to be done and set In Progress to run the developer again."
}

func wordsVouchNotice(reason string) string { return "approval needed: " + sentence(reason) }

func wordsNothingToApprove(reason string) string {
	return "The requirements cannot be approved: " + brief(reason) + " " + wordsWorkAgain
}

func wordsNothingToApproveNotice(reason string) string {
	return "nothing to approve: the analyst has finished, but " + sentence(reason) + " In Progress runs it again"
}

func wordsQuestions(q string) string {
	return "Questions are open:\n" + q + "\nAnswer in a comment and set the status In Progress."
}

func wordsQuestionsNotice(role Role, q string) string {
	first, _, _ := strings.Cut(strings.TrimLeft(q, "# \t\r\n"), "\n")
	return fmt.Sprintf("input needed: the %s: %s", role, brief(first))
}

// WordsStuck is the question of a run that was stopped because it made no progress.
func WordsStuck(role Role, reason string) string {
	return fmt.Sprintf("What is the %s to do differently? It was %s In Progress alone lets it go on, and tells it so.",
		role, sentence(reason))
}

func wordsTransition(from, to Stage, why string) string {
	return fmt.Sprintf("%s → %s: %s", from, to, brief(why))
}

func wordsAgain(s Stage, why string) string {
	return fmt.Sprintf("%s again: %s", s, brief(why))
}

func wordsBlocked(why string, at Stage) string {
	text := "Blocked: " + brief(why) + "\nSet the status In Progress to try again."
	if at == Deploy {
		text = strings.TrimSuffix(text, ".") + ", or Rejected with a comment to send it back to development."
	}
	return text
}

func wordsTaskError(reason string) string     { return "task error: out of retries; " + sentence(reason) }
func wordsDeployFailure(reason string) string { return "deploy failure: " + sentence(reason) }

func wordsTaskBlocked(reason string) string { return "blocked: " + sentence(reason) }

func wordsAgentFailure(role Role, reason string) string {
	return fmt.Sprintf("agent failure: the %s: %s", role, sentence(reason))
}

func wordsFinished(role Role, s Stage) string {
	return fmt.Sprintf("The %s has finished (%s).", role, s)
}

// wordsUsage renders what an agent's run has cost. Input is shown as everything that went in,
// with the cached part in brackets.
func wordsUsage(r Report) string {
	in := r.Input + r.CacheRead + r.CacheCreate
	unpriced := int64(0)
	if r.MicroUSD == 0 && in+r.Output > 0 {
		unpriced = 1
	}
	text := fmt.Sprintf("%s tokens in (%s cached), %s out, %s",
		Thousands(in), Thousands(r.CacheRead), Thousands(r.Output), Price(r.MicroUSD, unpriced))
	if r.Model != "" {
		text += ", " + r.Model
	}
	return text
}

// Price prints what runs have cost, of which so many have no known price.
func Price(micro, unpriced int64) string {
	switch {
	case unpriced == 0:
		return Dollars(micro)
	case micro == 0:
		return "price not known"
	case unpriced == 1:
		return Dollars(micro) + " and 1 run of unknown price"
	default:
		return fmt.Sprintf("%s and %d runs of unknown price", Dollars(micro), unpriced)
	}
}

// Dollars prints an amount of millionths of a dollar, to the cent, or to the
// hundredth of a cent when it is less than a dime.
func Dollars(micro int64) string {
	sign := ""
	if micro < 0 {
		sign, micro = "-", -micro
	}
	unit, digits := int64(10_000), 2
	if micro != 0 && micro < 100_000 {
		unit, digits = 100, 4
	}
	rounded := (micro + unit/2) / unit
	base := int64(1_000_000) / unit
	return fmt.Sprintf("%s$%d.%0*d", sign, rounded/base, digits, rounded%base)
}

// Thousands prints a number with commas between thousands.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := len(s) % 3
	start = cmp.Or(start, 3)
	var b strings.Builder
	b.WriteString(s[:min(start, len(s))])
	for i := start; i < len(s); i += 3 {
		b.WriteByte(',')
		b.WriteString(s[i : i+3])
	}
	return b.String()
}

// Span is a duration as people say it, in its two largest units.
func Span(d time.Duration) string {
	d = d.Round(time.Second)
	days, hours, minutes, seconds := int(d.Hours())/24, int(d.Hours())%24, int(d.Minutes())%60, int(d.Seconds())%60
	two := func(n int, unit string, rest int, smaller string) string {
		if rest == 0 {
			return fmt.Sprintf("%d %s", n, unit)
		}
		return fmt.Sprintf("%d %s %d %s", n, unit, rest, smaller)
	}
	switch {
	case days > 0:
		return two(days, "d", hours, "h")
	case hours > 0:
		return two(hours, "h", minutes, "min")
	case minutes > 0:
		return two(minutes, "min", seconds, "s")
	default:
		return fmt.Sprintf("%d s", seconds)
	}
}

// briefMax is the length of a reason in a comment, in characters; the story of the task has
// all of it.
const briefMax = 400

// brief is a reason in one line of a comment.
func brief(s string) string {
	line := []rune(strings.Join(strings.Fields(s), " "))
	if len(line) > briefMax {
		return string(line[:briefMax]) + "…"
	}
	return sentence(string(line))
}

// sentence makes a reason read as one: a capital is not forced, a full stop is.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	if s == "" || unicode.IsPunct(last) && last != ')' && last != '"' && last != '`' {
		return s
	}
	return s + "."
}
