package main
import ("context";"fmt";"os";"hank/runtime";"hank/runtime/keeper";"hank/runtime/harness/replay")
func main(){
 if len(os.Args)>1 { switch os.Args[1]{ case keeper.Verb: os.Exit(keeper.Main()); case replay.Argument: os.Exit(replay.Main(os.Args[2:])) } }
 o := runtime.Options{Execution: os.Args[2], Say: func(s string){fmt.Println(s)}}
 if len(os.Args)>3 { o.Hank=os.Args[3] }
 if len(os.Args)>4 { o.Data=os.Args[4] }
 switch os.Args[1] {
 case "rollback": r,err := runtime.Rollback(context.Background(), runtime.RollbackOptions{Execution:o.Execution, To:o.Hank, Undo: o.Hank==""}); fmt.Printf("%+v %v\n", r, err); return
 }
 res,err := runtime.Run(context.Background(), runtime.Mode(os.Args[1]), o)
 fmt.Printf("%+v\nerr=%v\n", res, err)
 os.Exit(int(runtime.CodeOf(err)))
}
