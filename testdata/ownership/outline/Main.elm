module Main exposing (main)

import Html exposing (Html, div)


type alias Model =
    { count : Int }


type Msg
    = Add Int
    | Reset


{-| Changes the model. -}
update : Msg -> Model -> Model
update msg model =
    case msg of
        Add n ->
            { model | count = model.count + n }

        Reset ->
            empty


empty : Model
empty =
    { count = 0 }


port save : Int -> Cmd msg
